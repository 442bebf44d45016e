import { expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { FIRMWARE_STATUSES } from '../../../schemas/vocabulary.ts'
import { editFirmware, withImage } from './firmware-moves.ts'
import { FIRMWARE as record } from './testing/firmware.ts'

const at = Millis(2)

test('a firmware is deprecated and made available again, and yanked for good', () => {
  const moves = FIRMWARE_STATUSES.map((from) =>
    FIRMWARE_STATUSES.filter(
      (status) => editFirmware({ ...record, status: from }, { status }, at).kind === 'edited',
    ),
  )
  expect(moves).toEqual([
    ['available', 'deprecated', 'yanked'],
    ['available', 'deprecated', 'yanked'],
    ['yanked'],
  ])
  expect(editFirmware({ ...record, status: 'yanked' }, { status: 'available' }, at)).toEqual({
    kind: 'refused',
    allowed: [],
  })
})

test('an edit counts as a revision, and one that changes nothing does not', () => {
  expect(editFirmware(record, { changelog: 'more' }, at)).toEqual({
    kind: 'edited',
    record: { ...record, changelog: 'more', updatedAt: at, revision: 2 },
  })
  const same = editFirmware(record, { changelog: 'first', status: 'available' }, at)
  expect(same.kind === 'edited' && same.record).toBe(record)
})

test('a lost image is replaced without touching the rest', () => {
  expect(withImage(record, 'firmware/2', at)).toEqual({
    ...record,
    imageKey: 'firmware/2',
    updatedAt: at,
    revision: 2,
  })
})
