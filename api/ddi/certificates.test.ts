// Devices that use the DDI with a certificate instead of a token, over real TLS.
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parseDeviceId } from '../../schemas/ids.ts'
import { Authority, type CertificateFiles } from '../cli/certs/authority.ts'
import { TlsFiles } from '../service/tls/tls-files.ts'
import { httpServers } from '../testing/http-server.ts'
import { OTA } from '../testing/ota-settings.ts'
import { NOW } from '../testing/rest.ts'
import { silentLogger } from '../testing/silent-logger.ts'

const DAY_MS = 86_400_000
const dir = mkdtempSync(join(tmpdir(), 'fleet-ddi-'))
afterAll(() => rmSync(dir, { recursive: true }))
const openServer = httpServers()

interface SentCredentials {
  readonly cert?: Buffer
  readonly key?: Buffer
  readonly authorization?: string
}

test('a device may present its certificate instead of a token, and a gateway its own for sub-devices', async () => {
  const now = Math.max(NOW, Date.now())
  const make = (name: string) => Authority.create(join(dir, name), { name, days: 30, crlUrl: undefined, now })
  const [ours, theirs] = [make('ours'), make('theirs')]
  const files = ours.issueServer(['localhost'], { days: 10, now })
  const [clientCa, crl] = ['ca.crt', 'ca.crl'].map((name) => join(dir, 'ours', name))
  const tls = new TlsFiles({ cert: files.certificate, key: files.key, clientCa, crl }, silentLogger)
  const { engine, tokens, port } = await openServer({ tls, settings: { ota: { ...OTA, ddi: true } } })
  const device = async (id: string, about: { type?: string; parentId?: string } = {}) => {
    const deviceId = parseDeviceId(id) ?? expect.fail('no id')
    const wish = { kind: 'register', name: id, type: 'mqtt_device', ...about } as const
    await engine.submit(deviceId, wish, { by: { kind: 'user', id: 'test' } })
    return deviceId
  }
  await device('gw', { type: 'gateway' })
  await device('sub', { parentId: 'gw' })
  const deviceId = await device('dev')
  const validFrom = engine.devices.get(deviceId)?.tokensValidFrom ?? expect.fail('no device')
  const { token } = await tokens.issueDevice({ deviceId, validFrom, ttlSec: 3_600 })

  const ca = readFileSync(join(dir, 'ours', 'ca.crt'))
  const get = (path: string, { authorization, ...shown }: SentCredentials = {}) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = authorization === undefined ? {} : { authorization }
      request({ host: 'localhost', port, path, ca, headers, agent: false, ...shown }, (response) =>
        resolve(response.resume().statusCode),
      )
        .on('error', reject)
        .end()
    })
  const poll = (id: string, sent?: SentCredentials) => get(`/DEFAULT/controller/v1/${id}`, sent)
  const shown = (made: CertificateFiles) => ({
    cert: readFileSync(made.certificate),
    key: readFileSync(made.key),
  })
  const certificateOf = (id: string, by = ours, at = now) => shown(by.issueDevice(id, { days: 5, now: at }))

  const [own, gateway] = [certificateOf('dev'), certificateOf('gw')]
  const authorization = `TargetToken ${token}`
  expect(await poll('dev', own)).toBe(200)
  expect(await poll('sub', gateway)).toBe(200)
  expect(await poll('dev', { ...own, authorization })).toBe(200)
  expect(await poll('dev', { authorization })).toBe(200)
  // The certificate is accepted only for the DDI.
  expect(await get('/api/v1/devices', own)).toBe(401)
  const wrong: readonly (readonly [string, string, SentCredentials])[] = [
    ['none', 'dev', {}],
    ['of another device', 'gw', own],
    ['of no gateway', 'sub', own],
    ['not that of the token', 'dev', { ...gateway, authorization }],
    ['by a stranger', 'dev', certificateOf('dev', theirs)],
    ['expired', 'dev', certificateOf('dev', ours, now - 20 * DAY_MS)],
    ['of a server', 'localhost', shown(files)],
  ]
  for (const [what, id, sent] of wrong) expect([what, await poll(id, sent)]).toEqual([what, 401])
  const lost = certificateOf('dev')
  expect(await poll('dev', lost)).toBe(200)
  ours.revoke(new X509Certificate(lost.cert).serialNumber, { now })
  await expect.poll(() => poll('dev', lost)).toBe(401)
  expect(await poll('dev', own)).toBe(200)
  tls.close()
})
