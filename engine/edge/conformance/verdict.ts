// The errors with which a check ends when it does not pass.

/** The requirement is not met. */
export class UnmetCheck extends Error {
  override readonly name = 'UnmetCheck'
  /** The observation on one line. */
  readonly evidence: string | undefined

  constructor(reason: string, evidence?: unknown) {
    super(reason)
    this.evidence = evidence === undefined ? undefined : oneLine(evidence)
  }
}

/** The check does not apply or cannot be made here. */
export class SkippedCheck extends Error {
  override readonly name = 'SkippedCheck'
}

const EVIDENCE_MAX = 600

/** Credentials are hidden, because reports are stored and shown to other people. */
const SECRETS = /token|secret|password|^key$/

function oneLine(evidence: unknown): string {
  const text = typeof evidence === 'string' ? evidence : JSON.stringify(evidence, withoutSecrets)
  return text.length > EVIDENCE_MAX ? `${text.slice(0, EVIDENCE_MAX)}…` : text
}

function withoutSecrets(name: string, value: unknown): unknown {
  return typeof value === 'string' && SECRETS.test(name) ? '(not shown)' : value
}
