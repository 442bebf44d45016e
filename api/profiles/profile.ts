// What a profile opens for the service.
import type { Ports } from '../../engine/index.ts'
import type { KeptAnswers } from '../../engine/ports/answers.ts'

export interface OpenProfile {
  readonly ports: Ports
  readonly answers: KeptAnswers
  /** Opens what devices need not wait for, once they are let in; resolves when all of it answers. */
  openRest(): Promise<void>
  /** After the engine is closed: what is left to let go of. */
  release(): Promise<void>
}
