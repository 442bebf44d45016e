// A violation that a checker finds.
export interface Violation {
  readonly check: string
  readonly device: string
  readonly text: string
  /** True if something is missing, which may only be late. */
  readonly isAbsence?: boolean
}
