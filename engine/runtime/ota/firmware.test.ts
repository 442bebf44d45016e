import { describe, expect, test } from 'vitest'
import { DeploymentId } from '../../../schemas/ids.ts'
import { MemoryBlobs } from '../../adapters/blobs/testing/memory.ts'
import type { FirmwareRecord, OpenImage } from '../../ports/ota.ts'
import { contentOf, NOW, openFirmware } from './testing/firmware-world.ts'

const DAY_MS = 86_400_000

async function textOf(opened: OpenImage): Promise<string | undefined> {
  if (opened.kind === 'missing') return undefined
  const buffer = Buffer.alloc(1_000)
  const bytes = await opened.blob.read(buffer)
  await opened.blob.close()
  return buffer.toString('utf8', 0, bytes)
}

function recordOf(outcome: { kind: 'done'; record: FirmwareRecord } | { kind: 'refused' }): FirmwareRecord {
  return outcome.kind === 'done' ? outcome.record : expect.fail(JSON.stringify(outcome))
}

describe('uploads', () => {
  test('a version exists once, and a repeated upload is answered with it', async () => {
    const { library, upload, keys } = await openFirmware()
    const first = await upload('1.0.0', 'abc')
    expect(first).toMatchObject({ kind: 'done', isNew: true, record: { status: 'available', revision: 1 } })
    const again = await upload('1.0.0', 'abc')
    expect(again).toEqual({ kind: 'done', isNew: false, record: recordOf(first) })
    expect(await upload('1.0.0', 'abd')).toMatchObject({
      kind: 'refused',
      code: 'ALREADY_EXISTS',
      detail: { firmware_id: recordOf(first).id, sha256: recordOf(first).sha256 },
    })
    expect(recordOf(await upload('1.0.0', 'abd', { deviceType: 'gateway' })).deviceType).toBe('gateway')
    expect([...library.all()].length).toBe(2)
    expect((await keys()).length).toBe(2)
  })

  test('two uploads of one version at the same time become one', async () => {
    const { upload, keys } = await openFirmware()
    const outcomes = await Promise.all([
      upload('1.0.0', 'abc'),
      upload('1.0.0', 'abd'),
      upload('1.0.0', 'abc'),
    ])
    expect(outcomes.map((outcome) => (outcome.kind === 'done' ? outcome.isNew : outcome.code))).toEqual([
      true,
      'ALREADY_EXISTS',
      false,
    ])
    expect((await keys()).length).toBe(1)
  })

  test('uploads at the same time share the room that is left', async () => {
    const { library, upload, keys } = await openFirmware({ settings: { storageBytesMax: 10 } })
    await upload('1.0.0', 'abc')
    let goOn = () => {}
    const step = new Promise<void>((resolve) => {
      goOn = resolve
    })
    async function* slow() {
      yield Buffer.from('1234')
      await step
      yield Buffer.from('5')
    }
    const first = library.storeImage(slow(), 100)
    expect(await library.storeImage(contentOf('123456789'), 100)).toEqual({ kind: 'full' })
    goOn()
    expect(await first).toMatchObject({ kind: 'stored', image: { bytes: 5 } })
    expect((await keys()).length).toBe(2)
  })

  test('the same bytes are stored once, and removed with the last version that has them', async () => {
    const { library, upload, keys } = await openFirmware()
    const one = recordOf(await upload('1.0.0', 'abc'))
    const two = recordOf(await upload('2.0.0', 'abc'))
    expect([one.imageKey, library.storageBytes()]).toEqual([two.imageKey, 3])
    await library.remove({ id: one.id, revision: undefined, force: false })
    expect(await textOf(await library.openImage(two))).toBe('abc')
    await library.remove({ id: two.id, revision: undefined, force: false })
    expect([await keys(), library.get(two.id)]).toEqual([[], undefined])
  })

  test('a repeated upload restores an image that was lost', async () => {
    const { library, upload, blobs } = await openFirmware()
    const lost = recordOf(await upload('1.0.0', 'abc'))
    await blobs.delete(lost.imageKey)
    expect(await library.hasImage(lost)).toBe(false)
    const back = recordOf(await upload('1.0.0', 'abc'))
    expect([back.id, back.revision, await library.hasImage(back)]).toEqual([lost.id, 2, true])
  })

  test('an upload beyond the limit for all images is refused, with the bytes in use', async () => {
    const { upload, keys } = await openFirmware({ settings: { storageBytesMax: 5 } })
    await upload('1.0.0', 'abc')
    expect(await upload('2.0.0', 'abcd')).toEqual({
      kind: 'refused',
      code: 'STORAGE_FULL',
      detail: { limit: 5, used: 3 },
    })
    expect((await upload('3.0.0', 'abc')).kind).toBe('done')
    expect((await keys()).length).toBe(1)
  })
})

test('records survive a restart, and another node follows them', async () => {
  const first = await openFirmware()
  const record = recordOf(await first.upload('1.0.0', 'abc'))
  const second = await openFirmware(first)
  expect(second.library.get(record.id)).toEqual(record)
  const edited = await first.library.edit({ id: record.id, status: 'deprecated', revision: 1, force: false })
  await expect.poll(() => second.library.get(record.id)).toEqual(recordOf(edited))
  await first.library.remove({ id: record.id, revision: undefined, force: false })
  await expect.poll(() => second.library.get(record.id)).toBeUndefined()
})

test('a change for a revision other than the current one is refused', async () => {
  const { library, upload } = await openFirmware()
  const { id } = recordOf(await upload('1.0.0', 'abc'))
  const edit = (revision: number) => library.edit({ id, changelog: `of ${revision}`, revision, force: false })
  expect(await edit(1)).toMatchObject({ kind: 'done', record: { revision: 2 } })
  expect(await edit(1)).toMatchObject({ kind: 'refused', code: 'PRECONDITION_FAILED' })
  expect(await library.remove({ id, revision: 1, force: false })).toMatchObject({
    code: 'PRECONDITION_FAILED',
  })
})

test('a firmware of which a deployment begins while its devices are counted is not removed', async () => {
  const active: DeploymentId[] = []
  const { library, upload } = await openFirmware({
    use: {
      deployments: () => ({ active, total: active.length }),
      async countRollbackDevices() {
        active.push(DeploymentId('dep_1'))
        return 0
      },
    },
  })
  const { id } = recordOf(await upload('1.0.0', 'abc'))
  const removed = await library.remove({ id, revision: undefined, force: false })
  expect(removed).toMatchObject({ code: 'FIRMWARE_IN_USE', detail: { deployments: ['dep_1'] } })
})

describe('images', () => {
  test('bytes that do not match the record never go out', async () => {
    const { library, upload, blobs, time } = await openFirmware()
    const record = recordOf(await upload('1.0.0', 'abc'))
    await blobs.put(record.imageKey, contentOf('abd'), 10)
    expect(await library.openImage(record, { from: 0, to: 1 })).toEqual({ kind: 'missing' })
    await blobs.put(record.imageKey, contentOf('abc'), 10)
    // A check reads the whole image, so a failed check counts for a while.
    expect(await library.openImage(record)).toEqual({ kind: 'missing' })
    time.at += 60_000
    expect(await textOf(await library.openImage(record, { from: 1, to: 3 }))).toBe('bc')
    await blobs.put(record.imageKey, contentOf('abcd'), 10)
    expect(await library.openImage(record)).toEqual({ kind: 'missing' })
    await blobs.delete(record.imageKey)
    time.at += 60_000
    expect(await library.openImage(record)).toEqual({ kind: 'missing' })
  })

  test('images of records that another leader wrote are kept, although nobody has noticed that it leads', async () => {
    const cutOff = await openFirmware()
    const { upload, keys, time } = await openFirmware(cutOff)
    await upload('1.0.0', 'abc')
    for (let days = 0; days < 3; days++) {
      time.at += DAY_MS
      // Lets the sweeps end.
      await new Promise(setImmediate)
    }
    expect((await keys()).length).toBe(1)
  })

  test('half an upload that a crash left is removed after a day', async () => {
    const blobs = new MemoryBlobs()
    const left = new Set([`firmware/${NOW}-a`, `firmware/${NOW + DAY_MS}-b`, 'firmware/other'])
    blobs.dropUnfinished = async ({ prefix, isMeant }) => {
      for (const key of left) if (key.startsWith(prefix) && isMeant(key)) left.delete(key)
    }
    const { time } = await openFirmware({ blobs })
    time.at = NOW + DAY_MS + 3_600_000
    await expect.poll(() => [...left]).toEqual([`firmware/${NOW + DAY_MS}-b`, 'firmware/other'])
  })

  test('images that a crash left are removed after a day, and no others', async () => {
    const { library, upload, keys, time, blobs } = await openFirmware()
    const kept = recordOf(await upload('1.0.0', 'abc'))
    await blobs.put('other/blob', contentOf('x'), 10)
    const left = await library.storeImage(contentOf('left'), 10)
    time.at = NOW + DAY_MS
    await expect.poll(keys).toEqual(expect.arrayContaining([left.kind === 'stored' && left.image.key]))
    const young = await library.storeImage(contentOf('young'), 10)
    time.at = NOW + DAY_MS + 3_600_000
    await expect.poll(async () => (await keys()).length).toBe(3)
    expect(await keys()).toEqual([kept.imageKey, young.kind === 'stored' && young.image.key, 'other/blob'])
  })
})
