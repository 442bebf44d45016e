import { expect, test } from 'vitest'
import { DeviceIdOf, device, partitionOf, type StoreContract, save, storeContract } from './contract.ts'
import { documentsContract } from './documents-contract.ts'
import { MemoryStore } from './memory.ts'
import { outboxContract } from './outbox-contract.ts'
import { writersContract } from './writers-contract.ts'

const CONTRACT: StoreContract = {
  name: 'memory',
  open: async (outbox) => new MemoryStore({ partitionOf, outbox }),
  restart: async (store) => {
    if (!(store instanceof MemoryStore)) throw new Error('not a memory store')
    return store.crash()
  },
}
storeContract(CONTRACT)
outboxContract(CONTRACT)
writersContract(CONTRACT)
documentsContract(CONTRACT)

test('a crashed store neither answers nor changes what was saved', async () => {
  const store = new MemoryStore({ partitionOf })
  await store.save(save([device('d1')]))
  const after = store.crash()
  let answered = false
  void store.save(save([device('d2')])).then(() => {
    answered = true
  })
  await after.save(save([device('d3')]))
  expect(after.devices.get(DeviceIdOf('d2'))).toBeUndefined()
  expect(after.devices.list({}, { offset: 0, limit: 9 }).total).toBe(2)
  expect(answered).toBe(false)
})
