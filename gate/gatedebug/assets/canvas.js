// What all charts use to draw.

// colors has the colors of the style sheet, which follow the theme.
const style = getComputedStyle(document.documentElement);
export const colors = new Proxy({}, { get: (_, name) => style.getPropertyValue(`--${name}`).trim() });

// context fits the canvas to the resolution of the screen and clears it.
export function context(canvas) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const g = canvas.getContext("2d");
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, width, height);
  return { g, width, height };
}

// ceiling returns a round number for the top of a scale: n or more, with a round
// half.
export function ceiling(n) {
  if (n <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 3, 4, 6, 8, 10].map((f) => f * power).find((top) => top >= n && top % 2 === 0) ?? 20 * power;
}
