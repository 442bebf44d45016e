// What the embedded broker needs of TLS, and what it makes of a peer's certificate.
//
// L1. A certificate is judged when its bearer asks to be admitted, not when the handshake was: a resumed session repeats
//     the judgement of an earlier day, and a list of revoked ones may have come since.
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import { Millis } from '../../../../schemas/ids.ts'
import type { PeerCertificate } from '../../../ports/broker.ts'

export interface BrokerTls {
  /** Certificate and key; with a CA, devices may show certificates. */
  context(): SecureContextOptions
  /** By serial number in hexadecimal. */
  isRevoked(serial: string): boolean
  /** Called when any of it has changed. */
  onChange(listener: () => void): void
}

export interface ShownCertificate extends PeerCertificate {
  readonly serial: string
}

const FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
  CERT_REVOKED: 'was revoked',
}

/** Undefined if the peer showed none. */
export function shownCertificate(
  socket: TLSSocket,
  { tls, now }: { readonly tls: BrokerTls; readonly now: Millis },
): ShownCertificate | undefined {
  const shown = socket.getPeerCertificate()
  // An empty object stands for none; the type does not say so.
  if (shown?.serialNumber === undefined) return undefined
  const { serialNumber: serial } = shown
  // Of several common names, none is the one.
  const commonName: unknown = shown.subject.CN
  const expiresAt = Millis(Date.parse(shown.valid_to))
  const about = { serial, expiresAt, commonName: typeof commonName === 'string' ? commonName : '' }
  return {
    ...about,
    fault: faultOf(socket) ?? (tls.isRevoked(serial) ? 'was revoked' : expiry(expiresAt, now)),
  }
}

function faultOf({ authorized, authorizationError }: TLSSocket): string | undefined {
  if (authorized) return undefined
  // Node gives the code where the type says an error.
  const code = String(authorizationError)
  return FAULTS[code] ?? `is not trusted (${code})`
}

/** By L1. */
function expiry(expiresAt: Millis, now: Millis): string | undefined {
  return expiresAt > now ? undefined : 'has expired'
}
