import { useState } from 'preact/hooks'
import type { CallOf, Operations } from '../../../../../schemas/client/calls.ts'
import { omitEmpty } from '../../address/omit-empty.ts'
import { fleet } from '../../data/client.ts'
import { newIdempotencyKey, useWrite } from '../../data/writes.ts'
import { columns, fleetVersion } from '../../live/fleet-index.ts'
import { boundFields } from '../../parts/bound-fields.ts'
import { Button } from '../../parts/button.tsx'
import { Field } from '../../parts/field.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { submits } from '../../parts/submits.ts'
import { TypeField } from '../../parts/type-field.tsx'
import { t } from './connect-words.ts'

export type RegistrationReply = Awaited<ReturnType<typeof fleet.registerDevice>>
type Body = CallOf<Operations['registerDevice']>['body']

/** Groups that are offered while one types. */
const GROUPS_MAX = 200

export function RegisterForm({
  onRegistered,
}: {
  readonly onRegistered: (device: RegistrationReply) => void
}) {
  const [draft, setDraft] = useState({ name: '', device_id: '', type: 'mqtt_device', group: '' })
  // It stays for a repetition of the same form, so that the device is not registered twice.
  const [key, setKey] = useState(newIdempotencyKey)
  const write = useWrite(async (body: Body) => {
    onRegistered(await fleet.registerDevice({ body, idempotencyKey: key }))
  })
  const change = (changes: Partial<typeof draft>) => {
    setDraft({ ...draft, ...changes })
    setKey(newIdempotencyKey())
  }
  const groups = fleetVersion.value === 0 ? [] : columns.groups.words.filter(Boolean).slice(0, GROUPS_MAX)
  const field = boundFields(draft, change, write.error.value)
  return (
    <form
      class="form"
      onSubmit={submits(() =>
        write.run({
          ...omitEmpty({ device_id: draft.device_id, group: draft.group }),
          name: draft.name,
          type: draft.type,
        }),
      )}
    >
      <Field label={t('name')} required maxLength={128} {...field('name')} />
      <Field
        label={t('deviceId')}
        hint={t('idHint')}
        maxLength={64}
        pattern="[A-Za-z0-9][A-Za-z0-9_\-]*"
        autocomplete="off"
        spellcheck={false}
        {...field('device_id')}
      />
      <TypeField value={draft.type} onValue={(type) => change({ type })} />
      <Field
        label={t('group')}
        hint={t('groupHint')}
        suggestions={groups}
        autocomplete="off"
        {...field('group')}
      />
      <ProblemCard error={write.error.value} />
      <p>
        <Button kind="primary" type="submit" write={write}>
          {t('register')}
        </Button>
      </p>
    </form>
  )
}
