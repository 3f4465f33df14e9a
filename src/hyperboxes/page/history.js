// Undo and redo: models are values, so history is two stacks of them.

export class History {
  constructor(start) {
    this.past = [];
    this.future = [];
    this.current = start;
    this.token = null;
  }

  /** Take a new value; values that follow one another with the same token count as one step. */
  commit(value, token = null) {
    if (value === this.current) return;
    if (token === null || token !== this.token) this.past.push(this.current);
    this.current = value;
    this.future = [];
    this.token = token;
  }

  /** End a step: the next commit is a new one, whatever its token. */
  seal() {
    this.token = null;
  }

  undo() {
    if (!this.past.length) return;
    this.future.push(this.current);
    this.current = this.past.pop();
    this.token = null;
  }

  redo() {
    if (!this.future.length) return;
    this.past.push(this.current);
    this.current = this.future.pop();
    this.token = null;
  }
}
