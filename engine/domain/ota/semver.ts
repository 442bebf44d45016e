// Compares versions, if they are semantic versions.

const VERSION = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+.*)?$/

/** Negative if `a` comes before `b`; undefined if one of them is no semantic version. */
export function compareVersions(a: string, b: string): number | undefined {
  const [left, right] = [VERSION.exec(a.trim()), VERSION.exec(b.trim())]
  if (left === null || right === null) return undefined
  for (let i = 1; i <= 3; i++) {
    const difference = Number(left[i] ?? 0) - Number(right[i] ?? 0)
    if (difference !== 0) return difference
  }
  const [early, late] = [left[4], right[4]]
  if (early === late) return 0
  // A release comes after its pre-releases.
  if (early === undefined) return 1
  return late === undefined ? -1 : compareLabels(early.split('.'), late.split('.'))
}

function compareLabels(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const [left, right] = [a[i], b[i]]
    if (left === undefined) return -1
    if (right === undefined) return 1
    if (left === right) continue
    const [isLeftNumber, isRightNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)]
    if (isLeftNumber && isRightNumber) return Number(left) - Number(right)
    if (isLeftNumber !== isRightNumber) return isLeftNumber ? -1 : 1
    return left < right ? -1 : 1
  }
  return 0
}
