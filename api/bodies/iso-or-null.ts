import { type Millis, toIso } from '../../schemas/ids.ts'

export function isoOrNull(at: Millis | undefined): string | null {
  return at === undefined ? null : toIso(at)
}
