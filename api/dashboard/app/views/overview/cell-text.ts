// What is written into a cell of the map, which is rarely as wide as a name.
const CUT = '…'
const WORD_MIN = 2
/** Shorter ends tell nothing. */
const LETTERS_MIN = 3

/** The name if there is room for it, else the id, else the last words of either, else the end of the name: devices are named
 *  alike and differ at the end. */
export function cellText(
  { name, id }: { readonly name: string; readonly id: string },
  width: number,
  widthOf: (text: string) => number,
): string {
  const whole = [name, id].find((text) => widthOf(text) <= width)
  if (whole !== undefined) return whole
  const words = [...tailsOf(name), ...tailsOf(id)].find((tail) => widthOf(tail) <= width)
  if (words !== undefined) return words
  // Letters of a name are about equally wide, so the first guess is close.
  let letters = Math.min(name.length - 1, Math.ceil((name.length * width) / widthOf(name)))
  while (letters >= LETTERS_MIN && widthOf(CUT + name.slice(-letters)) > width) letters -= 1
  return letters < LETTERS_MIN ? '' : CUT + name.slice(-letters).trimStart()
}

/** What follows the first word, the first two, and so on: the longest first. Of a single sign nobody learns anything. */
const tailsOf = (text: string) =>
  [...text.matchAll(/[\s\-_./:]+/g)]
    .map(({ 0: { length }, index }) => text.slice(index + length))
    .filter((tail) => tail.length >= WORD_MIN)
