// What a checker finds.
export interface Violation {
  readonly check: string
  readonly device: string
  readonly text: string
  /** Something is not there: it may only be late. */
  readonly isAbsence?: boolean
}
