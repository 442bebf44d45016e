// What clients do in most tests: subscribe, and collect events.
import type { RawClient, ReceivedFrame } from './raw-client.ts'

/** The id of the subscription is its channel, unless `more` sets another. */
export async function subscribe(client: RawClient, channel: string, more: object = {}): Promise<void> {
  const frame = { type: 'subscribe', id: channel, channel, ...more }
  client.send(frame)
  await client.next('subscribed', ({ id }) => id === frame.id)
}

/** All events so far. They have arrived once a later frame is answered. */
export async function eventsOf(client: RawClient): Promise<readonly ReceivedFrame[]> {
  const before = client.frames.length
  client.send({ type: 'ping' })
  await client.until(() => client.frames.slice(before).some(({ type }) => type === 'pong'))
  return client.frames.filter(({ type }) => type === 'event')
}
