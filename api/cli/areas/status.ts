// `fleet status`: the number of devices by status, recent changes, and what needs attention.
import type { Area } from '../area.ts'
import { definedFields } from '../defined-fields.ts'
import { FROM_OPTION, instant } from '../option-parsers.ts'

interface Options {
  readonly group?: string
  readonly from?: string
}

interface Row {
  readonly what: string
  readonly now: number
  /** Undefined if there is no count from that time. */
  readonly change: number | undefined
}

/** Statuses in which a device does not do its work. */
const ATTENTION = ['error', 'offline'] as const

export const status: Area = (command, cli) => {
  command
    .option('--group <group>', 'only devices of this group and its subgroups')
    .option(FROM_OPTION[0], 'compare with this time: an age such as 2h, 7d (default: 24h)', FROM_OPTION[2])
    .addHelpText('after', '\nExamples:\n  fleet status\n  fleet status --group warehouse --from 7d\n')
    .action(async ({ group, from = instant('24h') }: Options) => {
      const { client } = await cli.connect()
      const [summary, trend, alerts] = await Promise.all([
        client.getFleetSummary({ query: definedFields({ group }) }),
        client.getFleetTrend({ query: { from, interval: '1h', ...definedFields({ group }) } }),
        client.getAlertSummary({}),
      ])
      const [then] = trend.data
      const now = Object.fromEntries(summary.data.map(({ key, total }) => [key ?? '', total]))
      const names = [...new Set([...Object.keys(now), ...Object.keys(then?.by_status ?? {})])]
      const rows = names
        .map((name) =>
          row(name, now[name] ?? 0, then === undefined ? undefined : (then.by_status[name] ?? 0)),
        )
        .filter(({ now: count, change }) => count > 0 || (change ?? 0) !== 0)
      const total = row('total', summary.total, then?.total)
      if (cli.output.isJson)
        return cli.output.item({
          at: summary.at,
          compared_with: then?.time ?? null,
          total: jsonOf(total),
          by_status: Object.fromEntries(rows.map((one) => [one.what, jsonOf(one)])),
          attention: {
            devices: ATTENTION.reduce((sum, name) => sum + (now[name] ?? 0), 0),
            alerts: alerts.by_state.firing,
          },
        })
      const { critical, warning } = alerts.by_state.firing
      cli.output.list(
        [...rows, total],
        [
          ['STATUS', ({ what }) => what],
          ['DEVICES', ({ now: count }) => count],
          ['CHANGE', ({ change }) => (change === undefined ? '' : `${change > 0 ? '+' : ''}${change}`)],
        ],
      )
      cli.output.note(then === undefined ? 'no earlier count to compare with' : `compared with ${then.time}`)
      cli.output.note(
        `needs attention: ${attention(now)}; ${critical} critical and ${warning} warning alerts`,
      )
    })
}

const attention = (now: Readonly<Record<string, number>>) =>
  ATTENTION.map((name) => `${now[name] ?? 0} devices ${name}`).join(', ')

function row(what: string, now: number, then: number | undefined): Row {
  return { what, now, change: then === undefined ? undefined : now - then }
}

const jsonOf = ({ now, change }: Row) => ({ devices: now, change: change ?? null })
