// A client of /ws for measurements.
import { once } from 'node:events'
import { WebSocket } from 'ws'

export async function openWebSocket(url: string, onText: (text: string) => void): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  socket.on('message', (data) => onText(String(data)))
  await once(socket, 'open')
  // A socket that breaks shows as events that never arrive, which the caller counts.
  socket.on('error', () => undefined)
  return socket
}
