// What a client does in most tests: it subscribes, and looks at what it was told.
import type { RawClient, ReceivedFrame } from './raw-client.ts'

/** The subscription is named after its channel, unless `more` says otherwise. */
export async function subscribe(client: RawClient, channel: string, more: object = {}): Promise<void> {
  const frame = { type: 'subscribe', id: channel, channel, ...more }
  client.send(frame)
  await client.next('subscribed', ({ id }) => id === frame.id)
}

/** Everything told so far has arrived once the answer to a later frame has. */
export async function eventsOf(client: RawClient): Promise<readonly ReceivedFrame[]> {
  const before = client.frames.length
  client.send({ type: 'ping' })
  await client.until(() => client.frames.slice(before).some(({ type }) => type === 'pong'))
  return client.frames.filter(({ type }) => type === 'event')
}
