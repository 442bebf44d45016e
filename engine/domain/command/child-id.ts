// Ids of the commands of a broadcast. They look like all others, and follow from the broadcast and the member's position:
// if a command is created again after a crash, it gets the same id.
import { CommandId } from '../../../schemas/ids.ts'
import { base32 } from '../base32.ts'
import type { Broadcast } from './broadcast.ts'

const TIME_CHARS = 10
const RANDOM_CHARS = 11
const PLACE_CHARS = 5

export function childId({ id, createdAt }: Pick<Broadcast, 'id' | 'createdAt'>, place: number): CommandId {
  const [time, member] = [base32(createdAt, TIME_CHARS), base32(place, PLACE_CHARS)]
  return CommandId(`cmd_${time}${id.slice(-RANDOM_CHARS)}${member}`)
}
