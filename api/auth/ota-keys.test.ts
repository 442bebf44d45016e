// The keys that sign manifests, and what happens when the signing key is replaced.
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { compactVerify, createLocalJWKSet } from 'jose'
import { expect, test } from 'vitest'
import { MemoryStore } from '../../engine/adapters/store/testing/memory.ts'
import { partitionOf } from '../../engine/domain/partition.ts'
import type { FirmwareRecord } from '../../engine/ports/ota.ts'
import { SignedLinks } from '../../engine/runtime/ota/artifacts.ts'
import { TEST_OTA } from '../../engine/runtime/ota/testing/ota-settings.ts'
import { idOf } from '../../engine/runtime/shard/testing/items.ts'
import { DeploymentId, FirmwareId, Millis } from '../../schemas/ids.ts'
import { readSettings } from '../service/settings/settings.ts'
import { openHarness } from '../testing/rest.ts'
import { type OtaKeys, openOtaKeys } from './ota-keys.ts'

const store = new MemoryStore({ partitionOf })
const record: FirmwareRecord = {
  ...{ id: FirmwareId('fw_1'), version: '2.0', reportsAs: '2.0', deviceType: 'mqtt_device', changelog: '' },
  ...{ filename: 'a.bin', contentType: 'application/octet-stream', sizeBytes: 5, sha256: 'ab'.repeat(32) },
  ...{ imageKey: 'k', signature: undefined, signatureVerified: undefined, minFromVersion: undefined },
  ...{ fromVersions: [], status: 'available', uploadedBy: 'usr_1', revision: 1 },
  ...{ createdAt: Millis(0), updatedAt: Millis(0) },
}

function keysOf(environment: Readonly<Record<string, string>>): Promise<OtaKeys> {
  const read = readSettings({ ...environment }, { cores: 2 })
  return read.kind === 'settings' ? openOtaKeys(read.settings, store) : expect.fail(read.line)
}

function manifestBy({ signing }: OtaKeys): string {
  const about = { deviceId: idOf('r'), deploymentId: DeploymentId('dep_1'), attempt: 1, seq: 1 }
  const links = new SignedLinks({ ...TEST_OTA, signing })
  const { manifest } = links.sendable(record, { ...about, action: 'install', issuedAt: Millis(0) })
  return manifest ?? expect.fail('not signed')
}

const verified = ({ jwks: keys }: OtaKeys, manifest: string) =>
  compactVerify(manifest, createLocalJWKSet({ keys: [...keys] }), { algorithms: ['EdDSA'] })

function newKey() {
  const { privateKey } = generateKeyPairSync('ed25519')
  const secret = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { secret, open: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString() }
}

test.each(['open', 'secret'] as const)(
  'a manifest stays valid when its key is replaced, given the %s half of the former one',
  async (half) => {
    const [one, other] = [newKey(), newKey()]
    const before = await keysOf({ FLEET_OTA_SIGNING_KEY: one.secret })
    const manifest = manifestBy(before)
    const after = await keysOf({ FLEET_OTA_SIGNING_KEY: other.secret, FLEET_OTA_PREVIOUS_KEYS: one[half] })
    expect(after.jwks.map(({ kid }) => kid)).toEqual([after.signing?.kid, before.signing?.kid])
    await verified(after, manifest)
    await verified(after, manifestBy(after))
    // Without the former key in the published set, its signatures are no longer trusted.
    await expect(verified(await keysOf({ FLEET_OTA_SIGNING_KEY: other.secret }), manifest)).rejects.toThrow()
    const { body } = await openHarness({ otaJwks: after.jwks }).request('GET /.well-known/ota-keys.json')
    expect(body).toEqual({ keys: after.jwks })
    expect(JSON.stringify(body)).not.toContain('"d":')
  },
)

test('a key that was not configured is generated once, and still signs after the next start', async () => {
  const kept = await keysOf({})
  expect((await keysOf({})).signing?.kid).toBe(kept.signing?.kid)
  await verified(kept, manifestBy(kept))
})
