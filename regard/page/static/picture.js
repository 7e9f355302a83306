// A picture, lit where it was looked at: x · (0.35 + 0.65 a_i / max a), as regard's own figures draw it.

/** A canvas of a picture (3, Y, X); with weights, one for each region of a grid so many across, the rest in the dark. */
export function film({ shape, data }, weights, across) {
  const [, height, width] = shape;
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext('2d');
  const image = context.createImageData(width, height);
  const down = weights ? weights.length / across : 1;
  const most = weights ? Math.max(1e-9, ...weights) : 1;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const region = weights ? Math.floor((y * down) / height) * across + Math.floor((x * across) / width) : 0;
      const light = weights ? 0.35 + (0.65 * weights[region]) / most : 1;
      const place = y * width + x;
      for (let colour = 0; colour < 3; colour++)
        image.data[4 * place + colour] = data[colour * height * width + place] * light;
      image.data[4 * place + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}
