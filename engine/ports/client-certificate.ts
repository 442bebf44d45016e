// How the certificate that a device shows is judged, over MQTT and over HTTPS.
//
// The certificate is judged when the device asks to be admitted, not at the handshake: a resumed TLS session repeats an
// old judgement, and a newer revocation list may have arrived since.
import type { PeerCertificate as NodePeerCertificate, TLSSocket } from 'node:tls'
import { Millis } from '../../schemas/ids.ts'
import { HAS_EXPIRED } from '../../schemas/vocabulary.ts'
import type { PeerCertificate } from './broker.ts'

export interface Revocations {
  /** `serial`: the serial number in hexadecimal. */
  isRevoked(serial: string): boolean
}

export interface ClientCertificate extends PeerCertificate {
  readonly serial: string
}

const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'
const FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: HAS_EXPIRED,
  CERT_NOT_YET_VALID: 'is not valid yet',
  CERT_REVOKED: 'was revoked',
}

/** Judges the certificate as of `now`. Undefined if the peer presented none. */
export function readClientCertificate(
  socket: TLSSocket,
  { tls, now }: { readonly tls: Revocations; readonly now: Millis },
): ClientCertificate | undefined {
  const certificate = socket.getPeerCertificate()
  // Node returns an empty object if there is no certificate, contrary to its type.
  if (certificate?.serialNumber === undefined) return undefined
  const { serialNumber: serial } = certificate
  // With several common names, none is used.
  const commonName: unknown = certificate.subject.CN
  const expiresAt = Millis(Date.parse(certificate.valid_to))
  const about = { serial, expiresAt, commonName: typeof commonName === 'string' ? commonName : '' }
  return {
    ...about,
    fault:
      faultOf(socket) ??
      purpose(certificate) ??
      (tls.isRevoked(serial) ? 'was revoked' : expiry(expiresAt, now)),
  }
}

function faultOf({ authorized, authorizationError }: TLSSocket): string | undefined {
  if (authorized) return undefined
  // At runtime this is an error code, although Node's type says that it is an error.
  const code = String(authorizationError)
  return FAULTS[code] ?? `is not trusted (${code})`
}

/** A server certificate contains the name of its host, which must not be taken for a device id. */
function purpose({ ext_key_usage }: NodePeerCertificate): string | undefined {
  return ext_key_usage?.includes(SERVER_AUTH) === true ? 'belongs to a server, not to a device' : undefined
}

function expiry(expiresAt: Millis, now: Millis): string | undefined {
  return expiresAt > now ? undefined : HAS_EXPIRED
}
