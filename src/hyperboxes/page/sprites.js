// Points by the ten thousand: small marks, drawn once each by the browser, are stamped into a picture by hand.

/** Split a colour such as #0072B2 into its parts. */
export function rgb(colour) {
  return [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
}

/** Draw a shape once and keep the pixels that it covers: their places around the middle, and how much of each. */
export function stamp(shape, radius, hollow) {
  const reach = Math.ceil(radius * 1.3 + 1);
  const size = 2 * reach + 1;
  const context = new OffscreenCanvas(size, size).getContext("2d", { willReadFrequently: true });
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
  const [x, y, cover] = [[], [], []];
  for (let place = 0; place < size * size; place += 1) {
    const covered = pixels[4 * place + 3];
    if (!covered) continue;
    x.push((place % size) - reach);
    y.push(Math.floor(place / size) - reach);
    cover.push(covered);
  }
  return { reach, x: Int32Array.from(x), y: Int32Array.from(y), cover: Int32Array.from(cover) };
}

/** An opaque picture that stamps are put into: blending whole numbers is what makes it fast. */
export class Board {
  constructor(canvas) {
    this.context = canvas.getContext("2d", { alpha: false });
    this.canvas = canvas;
  }

  clear(width, height, [red, green, blue]) {
    if (this.canvas.width !== width || this.canvas.height !== height || !this.image) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = this.context.createImageData(width, height);
    }
    const ground = Uint8Array.of(red, green, blue, 255);
    new Uint32Array(this.image.data.buffer).fill(new Uint32Array(ground.buffer)[0]);
  }

  /** Stamp a mark around a point, over what is there. */
  put({ reach, x, y, cover }, atX, atY, [red, green, blue], alpha) {
    const { data, width, height } = this.image;
    const left = Math.floor(atX);
    const top = Math.floor(atY);
    const strength = Math.round(alpha * 256);
    const inside = left >= reach && top >= reach && left < width - reach && top < height - reach;
    for (let pixel = 0; pixel < cover.length; pixel += 1) {
      const px = left + x[pixel];
      const py = top + y[pixel];
      if (!inside && (px < 0 || py < 0 || px >= width || py >= height)) continue;
      const place = 4 * (py * width + px);
      const over = cover[pixel] * strength; // of about 2 ** 16
      data[place] += ((red - data[place]) * over) >> 16;
      data[place + 1] += ((green - data[place + 1]) * over) >> 16;
      data[place + 2] += ((blue - data[place + 2]) * over) >> 16;
    }
  }

  show() {
    this.context.putImageData(this.image, 0, 0);
  }
}
