// Whether the service has all that it depends on. Everybody may know it.
import { useAnswer } from '../../data/answers.ts'

const EVERY_MS = 10_000

export const useReadiness = () => useAnswer('readyz', { query: { verbose: '' } }, { everyMs: EVERY_MS }).data
