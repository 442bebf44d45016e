// Sends the requests of a dashboard and a few programs: latest values, lists, shadows, shadow writes.
//   k6 run bench/load/k6/rest.ts            against http://localhost:8000, or FLEET_URL
import { check } from 'k6'
import http from 'k6/http'
import type { Options } from 'k6/options'
import { type Account, bearer, openAccount } from './account.ts'

export const options: Options = {
  vus: Number(__ENV['VUS'] ?? 8),
  duration: __ENV['DURATION'] ?? '30s',
  thresholds: { http_req_failed: ['rate==0'], checks: ['rate==1'] },
}

export const setup = openAccount

// k6 runs the default export of a file.
export default function browse({ base, token, devices }: Account): void {
  const headers = bearer(token)
  const device = devices[__ITER % devices.length] ?? ''
  const named = (name: string) => ({ headers, tags: { name } })
  const latest = http.get(`${base}/telemetry/${device}`, named('latest values'))
  check(latest, { 'latest values': ({ status }) => status === 200 })
  const list = http.get(`${base}/devices?group=k6&per_page=10`, named('list'))
  check(list, { 'ten devices': (reply) => reply.status === 200 && reply.json('data.#') === 10 })
  const written = http.put(
    `${base}/shadows/${device}/desired`,
    JSON.stringify({ vu: __VU, turn: __ITER }),
    named('shadow write'),
  )
  check(written, { 'shadow written': ({ status }) => status === 200 })
  const shadow = http.get(`${base}/shadows/${device}`, named('shadow'))
  check(shadow, { 'shadow has a version': (reply) => Number(reply.json('version')) > 0 })
}
