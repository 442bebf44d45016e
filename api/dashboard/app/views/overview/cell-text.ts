// What is written into a cell of the map, which is rarely as wide as a name.
const CUT = '…'
/** Shorter ends tell nothing. */
const LETTERS_MIN = 3

/** The name if there is room for it, else the id, else the end of the name: devices are named alike and differ at the end. */
export function cellText(
  { name, id }: { readonly name: string; readonly id: string },
  width: number,
  widthOf: (text: string) => number,
): string {
  const whole = [name, id].find((text) => widthOf(text) <= width)
  if (whole !== undefined) return whole
  // Letters of a name are about equally wide, so the first guess is close.
  let letters = Math.min(name.length - 1, Math.ceil((name.length * width) / widthOf(name)))
  while (letters >= LETTERS_MIN && widthOf(CUT + name.slice(-letters)) > width) letters -= 1
  return letters < LETTERS_MIN ? '' : CUT + name.slice(-letters).trimStart()
}
