// `fleet audit`: searches the audit log.
import { AUDIT_OUTCOMES } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import { definedFields } from '../defined-fields.ts'
import { FROM_OPTION, TO_OPTION } from '../option-parsers.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'

interface Options {
  readonly actor?: string
  readonly action?: string
  readonly target?: string
  readonly device?: string
  readonly outcome?: (typeof AUDIT_OUTCOMES)[number]
  readonly ip?: string
  readonly from?: string
  readonly to?: string
  readonly limit: number
}

export const audit: Area = (command, cli) => {
  command
    .option('--actor <who>', 'who did it: a user id, e-mail address or key id')
    .option('--action <name>', 'action, such as registerDevice')
    .option('--target <path>', 'target, such as devices/robot-7')
    .option('--device <device_id>', 'only entries about this device')
    .option('--ip <address>', 'client address')
    .option(...FROM_OPTION)
    .option(...TO_OPTION)
    .option(...LIMIT_OPTION)
    .addHelpText(
      'after',
      '\nExamples:\n  fleet audit --from 7d --outcome refused\n  fleet audit --device robot-7 --action sendCommand\n',
    )
  command.addOption(
    command.createOption('--outcome <outcome>', 'outcome of the action').choices(AUDIT_OUTCOMES),
  )
  command.action(async ({ device, limit, ...filter }: Options) => {
    const { client } = await cli.connect()
    const query = {
      ...filter,
      limit: pageSize(limit),
      ...definedFields({ device_id: device }),
    }
    await cli.output.listFirst(client.pages.listAudit({ query }), limit, [
      ['TIME', ({ at }) => at],
      ['WHO', ({ actor }) => actor.name ?? actor.id ?? actor.type],
      ['ACTION', ({ action }) => action],
      ['TARGET', ({ target, device_id }) => target ?? (device_id && `devices/${device_id}`)],
      ['OUTCOME', ({ outcome }) => outcome],
      ['CODE', ({ code }) => code],
      ['REASON', ({ detail }) => Object(detail)['reason']],
      ['IP', ({ ip }) => ip],
      ['COUNT', ({ count }) => count],
    ])
  })
}
