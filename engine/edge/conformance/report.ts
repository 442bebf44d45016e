// The result of an examination: one finding per check and their totals, as text or as JUnit XML for CI tools.

/** A failed MUST fails the examination. A failed SHOULD is only a warning. */
export type Level = 'MUST' | 'SHOULD'

export interface Finding {
  readonly id: string
  readonly level: Level
  /** The section of the documentation that contains the requirement. */
  readonly clause: string
  readonly title: string
  readonly result: 'pass' | 'fail' | 'skipped'
  /** The reason why it failed or was skipped. */
  readonly reason?: string
  /** The observation that led to the result, for example a wrong packet. */
  readonly evidence?: string
  readonly duration_ms: number
}

export interface Report {
  /** The examined device id or service address. */
  readonly subject: string
  readonly profile: string
  readonly passed: number
  readonly failed: number
  /** The number of SHOULD requirements that are not met. */
  readonly warned: number
  readonly skipped: number
  readonly checks: readonly Finding[]
}

export function toReport(
  { subject, profile }: { readonly subject: string; readonly profile: string },
  checks: readonly Finding[],
): Report {
  const count = (result: Finding['result'], level?: Level) =>
    checks.filter((check) => check.result === result && (level === undefined || check.level === level)).length
  return {
    ...{ subject, profile },
    passed: count('pass'),
    failed: count('fail', 'MUST'),
    warned: count('fail', 'SHOULD'),
    skipped: count('skipped'),
    checks,
  }
}

/** Returns a line for the user, followed by the details if the check did not pass. */
export function toText({ id, level, title, clause, result, reason, evidence }: Finding): string {
  const word = result === 'fail' && level === 'SHOULD' ? 'warn' : result
  const lines = [`${word.padEnd(7)} ${id.padEnd(8)} ${title}`]
  if (reason !== undefined) lines.push(`        ${reason}`)
  if (result === 'fail') lines.push(`        Required by: ${clause}`)
  if (result === 'fail' && evidence !== undefined) lines.push(`        ${evidence}`)
  return `${lines.join('\n')}\n`
}

export function toJunit({ subject, profile, checks, failed, skipped }: Report): string {
  const cases = checks.map((check) => {
    const { id, title, duration_ms: ms } = check
    const head = `<testcase classname="${xml(subject)}" name="${xml(`${id} ${title}`)}" time="${ms / 1_000}"`
    const inner = innerOf(check)
    return inner === '' ? `    ${head}/>` : `    ${head}>${inner}</testcase>`
  })
  const sums = `tests="${checks.length}" failures="${failed}" skipped="${skipped}"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite name="${xml(`fleet conformance ${profile}`)}" ${sums}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

function innerOf({ result, level, reason = '', clause, evidence = '' }: Finding): string {
  if (result === 'skipped') return `<skipped message="${xml(reason)}"/>`
  if (result === 'pass') return ''
  const text = `${reason} (${clause}) ${evidence}`.trim()
  if (level === 'SHOULD') return `<system-out>${xml(`warning: ${text}`)}</system-out>`
  return `<failure message="${xml(reason)}">${xml(text)}</failure>`
}

function xml(text: string): string {
  return (
    text
      // XML allows no control characters, not even as escapes.
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression must match exactly these characters
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '?')
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
  )
}
