import { generateKeyPairSync } from 'node:crypto'
import { compactVerify, decodeProtectedHeader } from 'jose'
import { expect, test } from 'vitest'
import { DeploymentId, FirmwareId, Millis } from '../../../schemas/ids.ts'
import type { FirmwareRecord, SentAttempt } from '../../ports/ota.ts'
import { idOf } from '../shard/testing/items.ts'
import { SignedLinks } from './artifacts.ts'
import { TEST_OTA } from './testing/ota-settings.ts'

const { publicKey, privateKey: key } = generateKeyPairSync('ed25519')
const links = new SignedLinks({ ...TEST_OTA, urlTtlMs: 60_000, signing: { kid: 'k1', key } })
const record: FirmwareRecord = {
  id: FirmwareId('fw_1'),
  version: '2.1.0',
  deviceType: 'greenhouse',
  changelog: '',
  filename: 'größe & more?.bin',
  sizeBytes: 5,
  contentType: 'application/octet-stream',
  sha256: 'ab'.repeat(32),
  imageKey: 'firmware/1-x',
  signature: undefined,
  signatureVerified: undefined,
  minFromVersion: undefined,
  fromVersions: [],
  reportsAs: '2.1.0',
  status: 'available',
  uploadedBy: 'usr_1',
  createdAt: Millis(0),
  updatedAt: Millis(0),
  revision: 1,
}
const about: SentAttempt = {
  deviceId: idOf('dev_1'),
  deploymentId: DeploymentId('dep_1'),
  attempt: 2,
  seq: 7,
  action: 'install',
  issuedAt: Millis(1_772_366_400_250),
}

test('a link says which device may download which firmware until when, and is read as it was made', () => {
  const { url, expiresAt } = links.sendable(record, about)
  expect(expiresAt).toBe(1_772_366_461_000)
  const { pathname, searchParams } = new URL(url)
  expect(pathname).toBe('/ota/artifacts/fw_1/gr%C3%B6%C3%9Fe%20%26%20more%3F.bin')
  expect(links.read('fw_1', Object.fromEntries(searchParams))).toEqual({
    firmwareId: 'fw_1',
    deviceId: 'dev_1',
    deploymentId: 'dep_1',
    expiresAt,
  })
})

test('a link is invalid if anything in it is changed or missing', () => {
  const query = Object.fromEntries(new URL(links.sendable(record, about).url).searchParams)
  expect(links.read('fw_2', query)).toBeUndefined()
  for (const name of ['device', 'deployment', 'expires', 'signature']) {
    const { [name]: value = '', ...others } = query
    for (const wrong of [undefined, '', `${value}0`, `9${value.slice(1)}`, '../x', ' '])
      expect(
        links.read('fw_1', { ...others, ...(wrong === undefined ? {} : { [name]: wrong }) }),
      ).toBeUndefined()
  }
  // Of the last character of a signature only four bits count, so base64 has four spellings of the same bytes.
  const { signature = '' } = query
  for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=')
    if (!signature.endsWith(last))
      expect(links.read('fw_1', { ...query, signature: signature.slice(0, -1) + last })).toBeUndefined()
  expect(links.read('fw_1', { ...query, signature: `${signature}=` })).toBeUndefined()
  const other = new SignedLinks({ ...TEST_OTA, urlKey: new Uint8Array(32).fill(8) })
  expect(other.read('fw_1', query)).toBeUndefined()
})

test('a manifest binds image, device, order and time', async () => {
  const { manifest = '', expiresAt } = links.sendable(record, about)
  expect(decodeProtectedHeader(manifest)).toEqual({ alg: 'EdDSA', kid: 'k1' })
  const { payload } = await compactVerify(manifest, publicKey, { algorithms: ['EdDSA'] })
  expect(JSON.parse(Buffer.from(payload).toString())).toEqual({
    sub: 'dev_1',
    dep: 'dep_1',
    attempt: 2,
    seq: 7,
    act: 'install',
    ver: '2.1.0',
    typ: 'greenhouse',
    sha256: record.sha256,
    size: 5,
    iat: 1_772_366_400,
    exp: expiresAt / 1_000,
  })
  expect(
    new SignedLinks({ ...TEST_OTA, signing: undefined }).sendable(record, about).manifest,
  ).toBeUndefined()
})
