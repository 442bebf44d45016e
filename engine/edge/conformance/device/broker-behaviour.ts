import type { PublishedMessage } from './recording.ts'

export interface BrokerBehaviour {
  /** `refuse` answers CONNECT with "not authorised". `cut` breaks the connection without an answer. */
  onConnect: 'accept' | 'refuse' | 'cut'
  /** False if the broker answers nothing, as if the network were down. */
  answers: boolean
  acknowledges: (message: PublishedMessage) => boolean
}
