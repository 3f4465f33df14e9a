// Lists every text that does not stand out from its ground as WCAG AA asks: a ratio of 4.5.
() => {
  const parse = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const linear = (part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = ([red, green, blue]) => (
    0.2126 * linear(red / 255) + 0.7152 * linear(green / 255) + 0.0722 * linear(blue / 255));
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const node of document.querySelectorAll("h1, h2, p, th, td, span, button, label, kbd")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    const mixed = getComputedStyle(node).backgroundColor.startsWith("color("); // the cells of the matrix
    if (!own || mixed || !node.offsetParent || node.closest(".tip, :disabled")) continue;
    const [more, less] = [light(parse(getComputedStyle(node).color)), light(ground(node))].sort((a, b) => b - a);
    const ratio = (more + 0.05) / (less + 0.05);
    if (ratio < 4.5) low.push([node.className, node.textContent.slice(0, 30), ratio.toFixed(2)]);
  }
  return low;
}
