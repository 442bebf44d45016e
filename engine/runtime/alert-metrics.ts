// Metrics of alert rules and alerts: what this node judged and what it keeps. The leader adds the alerts about the fleet.
// Labels hold no ids.
import { Counter, type Registry } from 'prom-client'
import { ALERT_SEVERITIES } from '../../schemas/vocabulary.ts'
import type { AlertCounts } from '../ports/alerts.ts'
import type { FeedEvent } from '../ports/feed.ts'
import { readGauge } from './scraped.ts'

type ByState = AlertCounts['byState']

/** Read on every scrape. */
export interface AlertGauges {
  readonly rules: () => number
  /** Alerts about the fleet; undefined where another node leads. */
  readonly fleetAlerts: () => ByState | undefined
}

const STATES = ['pending', 'firing', 'recovering'] as const

export class AlertMetrics {
  readonly #registry: Registry
  readonly #moves: Counter
  readonly #evaluations: Counter
  /** The latest counts of each shard. */
  readonly #ofShards = new Map<number, ByState>()

  constructor(registry: Registry) {
    const registers = [registry]
    this.#registry = registry
    this.#moves = new Counter({
      name: 'fleet_alert_moves_total',
      help: 'Alerts that began to fire, and alerts that were resolved',
      labelNames: ['to'],
      registers,
    })
    this.#evaluations = new Counter({
      name: 'fleet_alert_evaluations_total',
      help: 'Rules judged because a condition changed, a time was over or something happened',
      registers,
    })
    for (const to of ['firing', 'resolved']) this.#moves.inc({ to }, 0)
  }

  /** Counts the alerts that moved. `feed`: the feed of a batch that this node saved. */
  moved(feed: readonly FeedEvent[]): void {
    for (const event of feed)
      if (event.kind !== 'alert') continue
      else if (event.event === 'alert.fired') this.#moves.inc({ to: 'firing' })
      else if (event.event === 'alert.resolved') this.#moves.inc({ to: 'resolved' })
  }

  /** `byState`: the shard's counts now; undefined if they have not changed. */
  worked(
    shard: number,
    { evaluations, byState }: { evaluations: number; byState: ByState | undefined },
  ): void {
    if (evaluations > 0) this.#evaluations.inc(evaluations)
    if (byState !== undefined) this.#ofShards.set(shard, byState)
  }

  watch({ rules, fleetAlerts }: AlertGauges): void {
    readGauge(
      this.#registry,
      {
        name: 'fleet_alert_rules',
        help: 'Alert rules that this node knows, those of device types included',
      },
      (gauge) => gauge.set(rules()),
    )
    readGauge(
      this.#registry,
      {
        name: 'fleet_alerts',
        help: 'Alerts of this node by state and severity; `pending` ones count their time before they fire',
        labelNames: ['state', 'severity'],
      },
      (gauge) => {
        const all = [...this.#ofShards.values(), fleetAlerts()]
        for (const state of STATES)
          for (const severity of ALERT_SEVERITIES)
            gauge.set(
              { state, severity },
              all.reduce((sum, counts) => sum + (counts?.[state][severity] ?? 0), 0),
            )
      },
    )
  }
}
