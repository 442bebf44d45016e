import type { PublishedMessage } from './recording.ts'

/** How the broker treats the device. */
export interface Manners {
  /** `refuse` answers CONNECT with "not authorised"; `cut` ends the connection before an answer. */
  door: 'open' | 'refuse' | 'cut'
  /** False: nothing that comes is answered, as if the network were dead. */
  answers: boolean
  acknowledges: (message: PublishedMessage) => boolean
}
