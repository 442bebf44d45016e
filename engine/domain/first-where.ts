/** The smallest number in [from, to) for which `test` holds, or `to`. `test` must stay true once it is. */
export function firstWhere(from: number, to: number, test: (number: number) => boolean): number {
  let low = from
  let high = to
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (test(middle)) high = middle
    else low = middle + 1
  }
  return low
}
