// Points by the ten thousand: small marks, drawn once each by the browser, are stamped into a picture by hand.

/** Split a colour such as #0072B2 into its parts. */
export function rgb(colour) {
  return [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
}

/** Draw a shape once and keep how much of each pixel it covers: {size, cover}. */
export function stamp(shape, radius, hollow) {
  const size = 2 * Math.ceil(radius * 1.3 + 1) + 1;
  const canvas = new OffscreenCanvas(size, size);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.translate(size / 2, size / 2);
  context.beginPath();
  context.save();
  context.scale(radius, radius);
  shape(context);
  context.restore();
  if (hollow) {
    context.lineWidth = Math.max(1.1, radius * 0.42);
    context.stroke();
  } else {
    context.fill();
  }
  const pixels = context.getImageData(0, 0, size, size).data;
  const cover = new Float32Array(size * size);
  for (let place = 0; place < cover.length; place += 1) cover[place] = pixels[4 * place + 3] / 255;
  return { size, cover };
}

/** A picture that stamps are put into. */
export class Board {
  constructor(canvas) {
    this.context = canvas.getContext("2d");
    this.canvas = canvas;
  }

  clear(width, height) {
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = null;
    }
    this.image ??= this.context.createImageData(width, height);
    this.image.data.fill(0);
  }

  /** Stamp a mark around a point, over what is there. */
  put(mark, x, y, [red, green, blue], alpha) {
    const { data, width, height } = this.image;
    const { size, cover } = mark;
    const left = Math.round(x - size / 2);
    const top = Math.round(y - size / 2);
    const fromX = Math.max(0, -left);
    const toX = Math.min(size, width - left);
    const fromY = Math.max(0, -top);
    const toY = Math.min(size, height - top);
    for (let row = fromY; row < toY; row += 1) {
      let place = 4 * ((top + row) * width + left + fromX);
      for (let column = fromX; column < toX; column += 1, place += 4) {
        const over = cover[row * size + column] * alpha;
        if (over === 0) continue;
        const under = (data[place + 3] / 255) * (1 - over);
        const total = over + under;
        data[place] = (red * over + data[place] * under) / total;
        data[place + 1] = (green * over + data[place + 1] * under) / total;
        data[place + 2] = (blue * over + data[place + 2] * under) / total;
        data[place + 3] = 255 * total;
      }
    }
  }

  show() {
    this.context.putImageData(this.image, 0, 0);
  }
}
