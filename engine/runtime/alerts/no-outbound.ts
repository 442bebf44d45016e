// For an engine that cannot reach the outside: every address is forbidden.
import type { Outbound } from '../../ports/outbound.ts'

export const NO_OUTBOUND: Outbound = {
  http: {
    judge: async (address) => ({ kind: 'forbidden', address }),
    send: async () => ({ kind: 'blocked' }),
  },
  mail: undefined,
  links: { device: (id) => `/devices/${id}`, alert: (id) => `/alerts/${id}` },
  userAgent: 'fleet',
}
