// A client of /ws for measurements.
import { once } from 'node:events'
import { WebSocket } from 'ws'

export async function openWebSocket(url: string, onText: (text: string) => void): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  socket.on('message', (data) => onText(String(data)))
  await once(socket, 'open')
  // Errors need no handling, because the caller counts events that never arrive.
  socket.on('error', () => undefined)
  return socket
}
