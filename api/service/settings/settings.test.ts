import { generateKeyPairSync } from 'node:crypto'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readSettings } from './settings.ts'

const SECRET = 'x'.repeat(32)
const read = (environment: Record<string, string>, cores = 4) => readSettings(environment, { cores })
const settingsOf = (environment: Record<string, string>, cores = 4) => {
  const result = read(environment, cores)
  return result.kind === 'settings' ? result.settings : expect.fail(result.line)
}
const lineOf = (environment: Record<string, string>) => {
  const result = read(environment)
  return result.kind === 'wrong' ? result.line : expect.fail('accepted')
}

describe('settings', () => {
  test('the embedded profile has safe defaults', () => {
    const settings = settingsOf({ PATH: '/bin' })
    expect(settings).toEqual({
      profile: {
        kind: 'embedded',
        roles: ['ingress', 'engine', 'api'],
        dataDir: resolve('./data'),
        mqttPort: 1883,
        devicePublishRate: 100,
        handshakesPerAddressMax: 10_000,
      },
      host: '127.0.0.1',
      httpPort: 8000,
      publicUrl: undefined,
      dashboard: true,
      sockets: { connectionsMax: 1_000, pingIntervalSec: 30, pingTimeoutSec: 16 },
      tls: undefined,
      durability: 'power',
      registration: 'open',
      adminEmail: undefined,
      adminPassword: undefined,
      signing: { kind: 'kept' },
      previousKeys: [],
      refreshRotation: false,
      heartbeatTimeoutMs: 60_000,
      requestRates: { perUser: 1_000, perDevice: 100, perAddress: 100, work: 200 },
      metrics: { port: undefined, token: undefined },
      corsOrigins: [],
      trustedProxies: [],
      deviceTypesPath: undefined,
      ota: {
        publicUrl: undefined,
        ddi: false,
        downloads: 'proxy',
        downloadsMax: 256,
        downloadBytesPerSec: 0,
        urlTtlMs: 86_400_000,
        uploadBytesMax: 2 ** 31,
        storageBytesMax: 20 * 2 ** 30,
        retentionMs: 365 * 86_400_000,
        trustedKeys: [],
        signing: { kind: 'kept' },
        previousKeys: [],
      },
      s3: undefined,
      outbound: { allow: [], smtp: undefined },
      retentionDays: undefined,
      auditRetentionDays: 400,
      alertRetentionDays: 400,
      shards: 3,
      logLevel: 'info',
    })
    expect(Object.isFrozen(settings)).toBe(true)
    expect([settingsOf({}, 1).shards, settingsOf({}, 200).shards]).toEqual([1, 64])
  })

  test('images are stored in S3 if the service is named with bucket and keys, in either profile', () => {
    const all = {
      FLEET_S3_URL: 'http://127.0.0.1:9000',
      FLEET_S3_BUCKET: 'images',
      FLEET_S3_ACCESS_KEY: 'who',
      FLEET_S3_SECRET_KEY: 'secret',
    }
    const s3 = { url: all.FLEET_S3_URL, bucket: 'images', accessKey: 'who', secretKey: 'secret' }
    expect(settingsOf(all).s3).toEqual({ ...s3, region: 'us-east-1' })
    expect(settingsOf({ ...all, FLEET_S3_REGION: 'eu-1' }).s3).toEqual({ ...s3, region: 'eu-1' })
    expect(lineOf({ FLEET_S3_URL: all.FLEET_S3_URL })).toBe(
      'FLEET_S3_BUCKET is required with FLEET_S3_URL; also required: FLEET_S3_ACCESS_KEY, FLEET_S3_SECRET_KEY',
    )
    expect(settingsOf({ ...all, FLEET_OTA_DOWNLOADS: 'redirect' }).ota.downloads).toBe('redirect')
    expect(lineOf({ FLEET_OTA_DOWNLOADS: 'redirect' })).toBe(
      'FLEET_OTA_DOWNLOADS redirect needs a bucket that devices can reach; set FLEET_S3_URL',
    )
    expect(lineOf({ FLEET_S3_BUCKET: 'images' })).toMatch(/^FLEET_S3_BUCKET has no effect without/)
    expect(lineOf({ ...all, FLEET_S3_BUCKET: '../x' })).toBe('FLEET_S3_BUCKET expected the name of a bucket')
  })

  test('variables of the command line are ignored', () => {
    expect(settingsOf({ FLEET_CLI_TOKEN: 'x', FLEET_CLI_URL: 'y' })).toEqual(settingsOf({}))
  })

  test('TLS closes the plain port unless it is set, and incomplete TLS settings are refused', () => {
    const files = { FLEET_TLS_CERT: 'server.crt', FLEET_TLS_KEY: '/etc/server.key' }
    expect(settingsOf(files)).toMatchObject({
      profile: { mqttPort: undefined },
      tls: {
        cert: resolve('server.crt'),
        key: '/etc/server.key',
        clientCa: undefined,
        mqttsPort: 8883,
        mqttWsPort: 8084,
        minVersion: '1.3',
        isHttp: true,
      },
    })
    const both = settingsOf({ ...files, FLEET_MQTT_PORT: '1883', FLEET_HTTP_TLS: 'off' })
    expect(both).toMatchObject({ profile: { mqttPort: 1883 }, tls: { isHttp: false } })
    expect(lineOf({ FLEET_TLS_CERT: 'x' })).toMatch(/^FLEET_TLS_CERT and FLEET_TLS_KEY belong together/)
    expect(lineOf({ FLEET_MQTTS_PORT: '8883' })).toMatch(/^FLEET_MQTTS_PORT has no effect by itself/)
    expect(lineOf({ ...files, FLEET_TLS_CRL: 'x' })).toMatch(/^FLEET_TLS_CRL .* FLEET_TLS_CLIENT_CA/)
  })

  test('settings are read and normalised', () => {
    const environment = {
      FLEET_HOST: '0.0.0.0',
      FLEET_HTTP_PORT: '0',
      FLEET_MQTT_PORT: '18830',
      FLEET_DATA_DIR: 'here',
      FLEET_DURABILITY: 'process',
      FLEET_REGISTRATION: 'locked',
      FLEET_ADMIN_EMAIL: 'Boss@Example.com',
      FLEET_ADMIN_PASSWORD: 'correct horse',
      FLEET_HEARTBEAT_TIMEOUT_SEC: '5',
      FLEET_DEVICE_TYPES: 'types.yaml',
      FLEET_USER_REQUEST_RATE: '0',
      FLEET_DEVICE_REQUEST_RATE: '7',
      FLEET_CORS_ORIGINS: 'https://a.example, http://localhost:3000',
      FLEET_TRUSTED_PROXIES: '10.0.0.0/8,::1',
      FLEET_RETENTION_DAYS: '30',
      FLEET_AUDIT_RETENTION_DAYS: '500',
      FLEET_ALERT_RETENTION_DAYS: '90',
      FLEET_SHARDS: '2',
      FLEET_REFRESH_ROTATION: 'on',
      FLEET_LOG_LEVEL: 'debug',
    }
    expect(settingsOf(environment)).toMatchObject({
      httpPort: 0,
      profile: { dataDir: resolve('here'), mqttPort: 18830 },
      registration: 'locked',
      adminEmail: 'boss@example.com',
      heartbeatTimeoutMs: 5000,
      requestRates: { perUser: 0, perDevice: 7, perAddress: 100, work: 200 },
      corsOrigins: ['https://a.example', 'http://localhost:3000'],
      trustedProxies: ['10.0.0.0/8', '::1'],
      retentionDays: 30,
      auditRetentionDays: 500,
      alertRetentionDays: 90,
      shards: 2,
      refreshRotation: true,
    })
  })

  test('an empty setting counts as not set', () => {
    expect(settingsOf({ FLEET_HTTP_PORT: '', FLEET_JWT_SECRET: '' })).toMatchObject({
      httpPort: 8000,
      signing: { kind: 'kept' },
    })
  })

  test('open registration beyond loopback must be set explicitly', () => {
    expect(lineOf({ FLEET_HOST: '0.0.0.0' })).toMatch(
      /^FLEET_REGISTRATION must be set explicitly when FLEET_HOST is 0\.0\.0\.0/,
    )
    expect(settingsOf({ FLEET_HOST: '0.0.0.0', FLEET_REGISTRATION: 'open' }).registration).toBe('open')
    expect(settingsOf({ FLEET_HOST: '::', FLEET_REGISTRATION: 'locked' }).registration).toBe('locked')
    for (const host of ['127.0.0.1', '127.1.2.3', 'localhost', '::1'])
      expect(settingsOf({ FLEET_HOST: host }).registration).toBe('open')
    for (const host of ['127.0.0.1.evil.example', '10.0.0.1', '::'])
      expect(lineOf({ FLEET_HOST: host })).toBeTruthy()
  })

  test.each([
    ['FLEET_HTPP_PORT', '1', 'is not a known setting; did you mean FLEET_HTTP_PORT?'],
    ['FLEET_COLOUR_OF_ROBOTS', '1', 'is not a known setting; known settings are FLEET_PROFILE'],
    ['FLEET_PROFILE', 'clustre', 'is "clustre"; expected one of embedded, cluster'],
    ['FLEET_HOST', 'not a host', 'expected an address or a name of this machine'],
    ['FLEET_HTTP_PORT', '65536', 'is "65536"; expected a whole number from 0 to 65535'],
    ['FLEET_HTTP_PORT', '80 ', 'is "80 "; expected a whole number'],
    ['FLEET_MQTT_PORT', '-1', 'expected a whole number'],
    ['FLEET_MQTT_PORT', '0x10', 'expected a whole number'],
    ['FLEET_DURABILITY', 'none', 'expected one of power, process'],
    ['FLEET_REGISTRATION', 'OPEN', 'expected one of open, bootstrap, locked'],
    ['FLEET_ADMIN_EMAIL', 'boss', 'expected an e-mail address'],
    ['FLEET_ADMIN_PASSWORD', '1234567', 'expected 8 to 256 characters'],
    ['FLEET_JWT_SECRET', 'short', 'is too short; expected at least 32 bytes'],
    ['FLEET_JWT_PRIVATE_KEY', 'nonsense', 'expected a PEM private key'],
    ['FLEET_JWT_PREVIOUS_KEYS', 'short', 'secrets of at least 32 bytes on separate lines'],
    ['FLEET_JWT_PREVIOUS_KEYS', `${SECRET}\n`.repeat(9), 'has too many keys; expected at most 8'],
    [
      'FLEET_JWT_PREVIOUS_KEYS',
      '-----BEGIN PUBLIC KEY-----\nAA\n-----END PUBLIC KEY-----',
      'expected PEM keys',
    ],
    ['FLEET_REFRESH_ROTATION', 'yes', 'is "yes"; expected one of on, off'],
    ['FLEET_HEARTBEAT_TIMEOUT_SEC', '0', 'expected a whole number from 1'],
    ['FLEET_USER_REQUEST_RATE', 'fast', 'expected a whole number from 0'],
    ['FLEET_CORS_ORIGINS', 'https://a.example/', 'has "https://a.example/"; expected origins such as'],
    ['FLEET_CORS_ORIGINS', 'https://a.example, a.example', 'has "a.example"'],
    ['FLEET_CORS_ORIGINS', 'ftp://a.example', 'expected origins such as'],
    ['FLEET_TRUSTED_PROXIES', '10.0.0.0/33', 'expected addresses or networks such as 10.0.0.0/8'],
    ['FLEET_TRUSTED_PROXIES', 'proxy', 'has "proxy"'],
    ['FLEET_RETENTION_DAYS', 'forever', 'expected a whole number from 1'],
    ['FLEET_SHARDS', '0', 'expected a whole number from 1 to 64'],
    ['FLEET_LOG_LEVEL', 'loud', 'expected one of fatal'],
  ])('%s=%s ends the start with one line', (name, value, text) => {
    const line = lineOf({ [name]: value })
    expect(line.startsWith(`${name} `)).toBe(true)
    expect(line).toContain(text)
    expect(line).not.toContain('\n')
  })

  test('errors never contain a secret', () => {
    expect(lineOf({ FLEET_ADMIN_PASSWORD: 'hunter2' })).not.toContain('hunter2')
    expect(lineOf({ FLEET_JWT_SECRET: 'hunter2' })).not.toContain('hunter2')
    expect(lineOf({ FLEET_JWT_PREVIOUS_KEYS: 'hunter2' })).not.toContain('hunter2')
  })

  test('previous keys may be a mix of PEM blocks and secrets, on one line or several', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const pems = [
      String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
      String(publicKey.export({ type: 'spki', format: 'pem' })),
    ].map((pem) => pem.trim())
    const text = `${SECRET}\n${pems.join('\n')}\n\n  ${'y'.repeat(40)}\n`
    for (const value of [text, text.replaceAll('\n', '\\n')])
      expect(settingsOf({ FLEET_JWT_PREVIOUS_KEYS: value }).previousKeys).toEqual([
        ...pems.map((pem) => ({ kind: 'pem', pem })),
        { kind: 'secret', secret: SECRET },
        { kind: 'secret', secret: 'y'.repeat(40) },
      ])
  })

  test('a private key must be of a kind that can sign, on one line or several', () => {
    const pemOf = (key: { export(options: { type: 'pkcs8'; format: 'pem' }): string | Buffer }) =>
      String(key.export({ type: 'pkcs8', format: 'pem' }))
    const ed = pemOf(generateKeyPairSync('ed25519').privateKey)
    expect(settingsOf({ FLEET_JWT_PRIVATE_KEY: ed }).signing).toEqual({ kind: 'private_key', pem: ed })
    expect(settingsOf({ FLEET_JWT_PRIVATE_KEY: ed.replaceAll('\n', '\\n') }).signing).toEqual({
      kind: 'private_key',
      pem: ed,
    })
    const weak = pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey)
    const curve = pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
    for (const key of [weak, curve])
      expect(lineOf({ FLEET_JWT_PRIVATE_KEY: key })).toContain('expected a PEM private key')
    expect(lineOf({ FLEET_JWT_PRIVATE_KEY: ed, FLEET_JWT_SECRET: SECRET })).toContain('both set')
  })
})
