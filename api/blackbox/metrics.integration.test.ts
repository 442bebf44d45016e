// Compares alerts and dashboards with the metrics of a running service.
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { parse } from 'yaml'
import { metricsOf } from '../../deploy/testing/promql.ts'
import { test } from './testing/shared-service.ts'

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook: string }
}
interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly datasource?: { readonly uid: string }
  readonly targets?: readonly { readonly expr: string }[]
}

const at = (path: string) => new URL(`../../deploy/${path}`, import.meta.url)
// These are our own files; a wrong shape fails a test.
const alertsOf = (name: string) =>
  (
    parse(readFileSync(at(`prometheus/rules/${name}`), 'utf8')) as { groups: { rules: Alert[] }[] }
  ).groups.flatMap(({ rules }) => rules)
const dashboards = readdirSync(at('grafana/dashboards')).map(
  (name) =>
    JSON.parse(readFileSync(at(`grafana/dashboards/${name}`), 'utf8')) as {
      uid: string
      panels: readonly Panel[]
    },
)
const source = parse(readFileSync(at('grafana/provisioning/datasources/prometheus.yaml'), 'utf8')) as {
  datasources: { uid: string }[]
}

let present: ReadonlySet<string>

test.beforeAll(async ({ service: { httpUrl } }) => {
  present = namesIn(await (await fetch(`${httpUrl}/metrics`)).text())
})

/** Names of all metrics, also of those that have no values yet. */
function namesIn(text: string): ReadonlySet<string> {
  const typed = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)]
  return new Set(
    typed.flatMap(([, name = '', kind]) =>
      kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => `${name}${part}`) : [name],
    ),
  )
}

/** Metrics of Prometheus itself. */
const isThere = (name: string) => name === 'up' || present.has(name)

describe('every metric exists', () => {
  test('every metric of the alerts exists', () => {
    const asked = alertsOf('fleet.yaml').flatMap(({ expr }) => metricsOf(expr))
    expect(asked.length).toBeGreaterThan(20)
    expect(asked.filter((name) => !isThere(name))).toEqual([])
  })

  test('every metric of the dashboards exists', () => {
    const asked = dashboards.flatMap(({ panels }) =>
      panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsOf(expr))),
    )
    expect(asked.length).toBeGreaterThan(40)
    expect(asked.filter((name) => !isThere(name))).toEqual([])
  })
})

test('every alert has an urgency, a summary, and a runbook', () => {
  const alerts = readdirSync(at('prometheus/rules')).flatMap(alertsOf)
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
  for (const { alert, labels, annotations } of alerts) {
    expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(page|ticket)$/)])
    expect([alert, annotations.summary.length > 10, annotations.runbook.length > 30]).toEqual([
      alert,
      true,
      true,
    ])
  }
})

test('alerts use only EMQX metrics that exist in its source', () => {
  const known = [
    'emqx_authentication_failure',
    'emqx_authorization_deny',
    'emqx_cert_expiry_at',
    'emqx_cluster_nodes_stopped',
    'emqx_delivery_dropped_queue_full',
    'emqx_retained_count',
    'up',
  ]
  const asked = alertsOf('emqx.yaml').flatMap(({ expr }) => metricsOf(expr))
  expect(asked.filter((name) => !known.includes(name))).toEqual([])
})

test('panels do not overlap, have unique ids, and use the existing data source', () => {
  const [{ uid } = { uid: '' }] = source.datasources
  expect(new Set(dashboards.map((dashboard) => dashboard.uid)).size).toBe(dashboards.length)
  for (const { panels } of dashboards) {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    for (const { type, datasource } of panels) if (type !== 'row') expect(datasource?.uid).toBe(uid)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
  }
})
