import { useMemo, useState } from 'preact/hooks'
import { omitEmpty } from '../../address/omit-empty.ts'
import { refreshAnswers } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { newIdempotencyKey, useWrite } from '../../data/writes.ts'
import { boundFields } from '../../parts/bound-fields.ts'
import { CheckField } from '../../parts/check-field.tsx'
import { Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'
import { TypeField } from '../../parts/type-field.tsx'
import { words } from '../../words/words.ts'

const t = words({
  name: ['Name, such as a batch', 'Name, etwa der der Charge'],
  type: ['Device type', 'Typ der Geräte'],
  group: ['Group', 'Gruppe der Geräte'],
  limit: ['Number of devices', 'Anzahl der Geräte'],
  idsHint: [
    '* stands for any characters, ? for one. Empty: any id.',
    '* steht für beliebige Zeichen, ? für eines. Leer: jede Kennung.',
  ],
  days: ['Valid for (days)', 'Gültig (Tage)'],
  approval: ['Each device waits for approval', 'Jedes Gerät wartet auf eine Zulassung'],
  once: [
    'This key is shown only once. Whoever has it can register devices.',
    'Dieser Schlüssel wird nur jetzt gezeigt. Wer ihn hat, kann damit Geräte anmelden.',
  ],
  key: ['Provisioning key', 'Anlernschlüssel'],
})

const DAY_SEC = 86_400

export function NewProvisioningKey({ onClose }: { readonly onClose: () => void }) {
  const [draft, setDraft] = useState({ name: '', group: '', limit: '100', ids: '', days: '7' })
  const [type, setType] = useState('mqtt_device')
  const [approval, setApproval] = useState(false)
  // Another draft is another request; the same one sent again is the same.
  const idempotencyKey = useMemo(newIdempotencyKey, [JSON.stringify([draft, type, approval])])
  const [key, setKey] = useState<string | undefined>(undefined)
  const write = useWrite(async () => {
    const body = {
      ...omitEmpty({ name: draft.name, group: draft.group, id_pattern: draft.ids }),
      type,
      limit: Number(draft.limit),
      ttl_sec: Math.round(Number(draft.days) * DAY_SEC),
      approval,
    }
    const made = await fleet.createProvisioningKey({ body, idempotencyKey })
    refreshAnswers('listProvisioningKeys')
    setKey(made.key)
  })
  if (key !== undefined)
    return <SecretDialog title={t('key')} text={t('once')} label={t('key')} secret={key} onClose={onClose} />
  const field = boundFields(draft, (changes) => setDraft({ ...draft, ...changes }), write.error.value)
  return (
    <FormDialog title={t('newKey')} action={t('newKey')} write={write} onClose={onClose}>
      <Field label={t('name')} {...field('name')} />
      <TypeField value={type} onValue={setType} />
      <Field label={t('group')} {...field('group')} />
      <Field label={t('limit')} type="number" min={1} {...field('limit')} />
      <Field label={t('deviceIds')} hint={t('idsHint')} spellcheck={false} {...field('ids', '/id_pattern')} />
      <Field label={t('days')} type="number" min={1} {...field('days', '/ttl_sec')} />
      <CheckField label={t('approval')} isOn={approval} onValue={setApproval} />
    </FormDialog>
  )
}
