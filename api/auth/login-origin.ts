// Where a login came from, to be shown to its user later.
import type { LoginOrigin } from '../../engine/ports/users.ts'

const USER_AGENT_CHARS_MAX = 256

export function loginOrigin(ip: string, header: (name: string) => string | undefined): LoginOrigin {
  return { ip, userAgent: header('user-agent')?.slice(0, USER_AGENT_CHARS_MAX) }
}
