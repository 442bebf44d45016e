import { signal } from '@preact/signals'

/** How often the connection was lost and came back: what failed meanwhile is asked for once more. */
export const reconnectsCount = signal(0)
