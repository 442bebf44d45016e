// The settings of TLS on the ports of this service.
import { resolve } from 'node:path'
import type { TlsPaths } from '../tls/tls-files.ts'
import type { Name } from './names.ts'
import { PORT, type Reader } from './reader.ts'

/** Paths of PEM files, and the ports that use them. */
export interface TlsSettings extends TlsPaths {
  /** Port of MQTT over TLS. */
  readonly mqttsPort: number
  /** Port of MQTT in WebSockets over TLS. */
  readonly mqttWsPort: number
  /** The oldest version that devices may use on these two ports. */
  readonly minVersion: '1.2' | '1.3'
  /** Whether REST and `/ws` use TLS as well. */
  readonly isHttp: boolean
}

/** Settings that have no effect without a certificate and a key. */
const TLS_NAMES = [
  'FLEET_TLS_CLIENT_CA',
  'FLEET_TLS_CRL',
  'FLEET_MQTTS_PORT',
  'FLEET_MQTT_WS_PORT',
  'FLEET_TLS_MIN',
  'FLEET_HTTP_TLS',
] as const satisfies readonly Name[]

/** Undefined without any TLS setting. An incomplete set is refused, since it would serve plain text by accident. */
export function readTls(reader: Reader): TlsSettings | undefined {
  const path = (name: Name) => {
    const text = reader.text(name)
    return text === undefined ? undefined : resolve(text)
  }
  const [cert, key] = [path('FLEET_TLS_CERT'), path('FLEET_TLS_KEY')]
  const more = {
    clientCa: path('FLEET_TLS_CLIENT_CA'),
    crl: path('FLEET_TLS_CRL'),
    mqttsPort: reader.number('FLEET_MQTTS_PORT', { ...PORT, default: 8883 }),
    mqttWsPort: reader.number('FLEET_MQTT_WS_PORT', { ...PORT, default: 8084 }),
    minVersion: reader.word('FLEET_TLS_MIN', ['1.3', '1.2'], '1.3'),
    isHttp: reader.word('FLEET_HTTP_TLS', ['on', 'off'], 'on') === 'on',
  }
  if (more.crl !== undefined && more.clientCa === undefined)
    reader.refuse('FLEET_TLS_CRL', 'needs FLEET_TLS_CLIENT_CA, the CA that issued the list')
  if (cert !== undefined && key !== undefined) return { cert, key, ...more }
  if (cert !== undefined || key !== undefined)
    reader.refuse('FLEET_TLS_CERT', 'and FLEET_TLS_KEY belong together; set both or neither')
  const alone = TLS_NAMES.find((name) => reader.text(name) !== undefined)
  if (cert === undefined && key === undefined && alone !== undefined)
    reader.refuse(alone, 'has no effect by itself; set FLEET_TLS_CERT and FLEET_TLS_KEY as well')
  return undefined
}
