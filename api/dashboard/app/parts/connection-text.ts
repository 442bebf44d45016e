import { words } from '../words/words.ts'
import { plainText } from './plain-text.ts'

const REASONS = {
  disconnect: ['it logged off', 'abgemeldet'],
  lost: ['the connection broke', 'Verbindung abgerissen'],
  keepalive: ['it fell silent', 'verstummt'],
  takeover: ['it connected anew', 'neu verbunden'],
  expired: ['its token expired', 'Token abgelaufen'],
  revoked: ['its token was revoked', 'Token widerrufen'],
  abuse: ['it broke a limit', 'eine Grenze verletzt'],
  shutdown: ['the service stopped', 'Dienst angehalten'],
} as const

const t = words(REASONS)

/** Why a connection is as it is; nothing of a connection that just is. A reason of a newer service is shown as it is. */
export function connectionReason(reason: string | null): string | undefined {
  if (reason === null || reason === 'connect') return undefined
  return Object.hasOwn(REASONS, reason) ? t(reason as keyof typeof REASONS) : plainText(reason)
}
