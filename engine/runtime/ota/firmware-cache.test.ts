import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { FirmwareId, Millis } from '../../../schemas/ids.ts'
import { MemoryDocuments } from '../../adapters/store/testing/memory-documents.ts'
import { FIRMWARE as RECORD } from '../../domain/ota/testing/firmware.ts'
import { SimTime } from '../../testing/time.ts'
import { FirmwareCache } from './firmware-cache.ts'
import { firmwareDocument } from './firmware-documents.ts'

test('images that become known while the whole list is read stay known', async () => {
  const documents = new MemoryDocuments()
  const cache = new FirmwareCache({
    documents,
    schedule: new SimTime(Millis(0)).newIncarnation().schedule,
    failed: (error) => expect.fail(String(error)),
  })
  const list = documents.list.bind(documents)
  let answer = () => {}
  const answered = new Promise<void>((resolve) => (answer = resolve))
  documents.list = async (collection) => {
    const stored = await list(collection)
    await answered
    return stored
  }
  cache.open()
  await setImmediate()
  const [uploadedHere, uploadedElsewhere] = ['fw_here', 'fw_elsewhere'].map((id) => ({
    ...RECORD,
    id: FirmwareId(id),
  }))
  if (uploadedHere === undefined || uploadedElsewhere === undefined) throw new Error('there are two')
  cache.update(uploadedHere)
  documents.save([firmwareDocument(uploadedElsewhere)])
  answer()
  await setImmediate()
  await setImmediate()
  expect([...cache.all()].map(({ id }) => id).sort()).toEqual(['fw_elsewhere', 'fw_here'])
})
