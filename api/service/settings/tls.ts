// The settings of TLS on this service's own ports.
import { resolve } from 'node:path'
import type { Name } from './names.ts'
import { PORT, type Reader } from './reader.ts'

/** Files in PEM, and what is served with them. */
export interface TlsSettings {
  readonly cert: string
  readonly key: string
  /** With it, a device may show a certificate instead of a token. */
  readonly clientCa: string | undefined
  /** Of certificates that were revoked. */
  readonly crl: string | undefined
  /** MQTT over TLS. */
  readonly mqttsPort: number
  /** MQTT in WebSockets over TLS. */
  readonly mqttWsPort: number
  /** Whether REST and `/ws` are over TLS as well. */
  readonly isHttp: boolean
}

/** Of TLS, without what it takes at least. */
const TLS_NAMES = [
  'FLEET_TLS_CLIENT_CA',
  'FLEET_TLS_CRL',
  'FLEET_MQTTS_PORT',
  'FLEET_MQTT_WS_PORT',
  'FLEET_HTTP_TLS',
] as const satisfies readonly Name[]

/** Nothing of it, or certificate and key at least: half of it would be plain text where TLS was meant. */
export function readTls(read: Reader): TlsSettings | undefined {
  const path = (name: Name) => {
    const text = read.text(name)
    return text === undefined ? undefined : resolve(text)
  }
  const [cert, key] = [path('FLEET_TLS_CERT'), path('FLEET_TLS_KEY')]
  const more = {
    clientCa: path('FLEET_TLS_CLIENT_CA'),
    crl: path('FLEET_TLS_CRL'),
    mqttsPort: read.number('FLEET_MQTTS_PORT', { ...PORT, default: 8883 }),
    mqttWsPort: read.number('FLEET_MQTT_WS_PORT', { ...PORT, default: 8084 }),
    isHttp: read.word('FLEET_HTTP_TLS', ['on', 'off'], 'on') === 'on',
  }
  if (more.crl !== undefined && more.clientCa === undefined)
    read.refuse('FLEET_TLS_CRL', 'is a list of a CA; expected FLEET_TLS_CLIENT_CA beside it')
  if (cert !== undefined && key !== undefined) return { cert, key, ...more }
  if (cert !== undefined || key !== undefined)
    read.refuse('FLEET_TLS_CERT', 'and FLEET_TLS_KEY go together; expected both of them, or neither')
  const alone = TLS_NAMES.find((name) => read.text(name) !== undefined)
  if (cert === undefined && key === undefined && alone !== undefined)
    read.refuse(alone, 'does nothing by itself; expected FLEET_TLS_CERT and FLEET_TLS_KEY beside it')
  return undefined
}
