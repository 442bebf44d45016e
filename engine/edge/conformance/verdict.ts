// How a check ends that does not simply pass.

/** What was asked for was not met. */
export class UnmetCheck extends Error {
  override readonly name = 'UnmetCheck'
  /** What was seen, as one line. */
  readonly evidence: string | undefined

  constructor(reason: string, evidence?: unknown) {
    super(reason)
    this.evidence = evidence === undefined ? undefined : oneLine(evidence)
  }
}

/** The check could not be made here. */
export class SkippedCheck extends Error {
  override readonly name = 'SkippedCheck'
}

const EVIDENCE_MAX = 600

/** Reports are kept and shown to others, so they have no credentials. */
const SECRETS = /token|secret|password|^key$/

function oneLine(evidence: unknown): string {
  const text = typeof evidence === 'string' ? evidence : JSON.stringify(evidence, withoutSecrets)
  return text.length > EVIDENCE_MAX ? `${text.slice(0, EVIDENCE_MAX)}…` : text
}

function withoutSecrets(name: string, value: unknown): unknown {
  return typeof value === 'string' && SECRETS.test(name) ? '(not shown)' : value
}
