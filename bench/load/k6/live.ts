// Opens sockets on /ws that watch shadows and write to them. Each socket must see its own write.
//   k6 run bench/load/k6/live.ts            against http://localhost:8000, or FLEET_URL
import { check } from 'k6'
import http from 'k6/http'
import { Trend } from 'k6/metrics'
import type { Options } from 'k6/options'
import { WebSocket } from 'k6/websockets'
import { type Account, bearer, openAccount } from './account.ts'

export const options: Options = {
  vus: Number(__ENV['VUS'] ?? 4),
  iterations: Number(__ENV['ITERATIONS'] ?? 40),
  thresholds: { checks: ['rate==1'] },
}

const untilSeen = new Trend('shadow_write_until_seen', true)
const PATIENCE_MS = 10_000

export const setup = openAccount

// k6 runs the default export of a file.
export default function watch({ base, token, devices }: Account): void {
  const device = devices[__ITER % devices.length] ?? ''
  const value = `${__VU}-${__ITER}`
  const socket = new WebSocket(`${base.replace(/^http/, 'ws')}/ws`)
  let isSeen = false
  let writtenAt = 0
  const send = (frame: object) => socket.send(JSON.stringify(frame))
  const patience = setTimeout(() => socket.close(), PATIENCE_MS)
  socket.onopen = () => send({ type: 'auth', token })
  socket.onmessage = (message) => {
    // The service sends text frames only.
    const frame = JSON.parse(String(message?.data))
    if (frame.type === 'auth_ok')
      send({ type: 'subscribe', id: 's', channel: 'shadows', filter: { device_id: device } })
    if (frame.type === 'subscribed') {
      writtenAt = Date.now()
      const body = JSON.stringify({ [`vu${__VU}`]: value })
      http.put(`${base}/shadows/${device}/desired`, body, { headers: bearer(token) })
    }
    if (frame.type === 'event' && JSON.stringify(frame.data).includes(value)) {
      isSeen = true
      untilSeen.add(Date.now() - writtenAt)
      clearTimeout(patience)
      socket.close()
    }
  }
  socket.onclose = () => {
    clearTimeout(patience)
    check(null, { 'the write was seen': () => isSeen })
  }
}
