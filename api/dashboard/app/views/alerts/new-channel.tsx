import { useState } from 'preact/hooks'
import type { NewChannelBody } from '../../../../../schemas/alert-channel.ts'
import { ALERT_SEVERITIES, CHANNEL_TYPES, type ChannelType } from '../../../../../schemas/vocabulary.ts'
import { splitList } from '../../address/split-list.ts'
import { refreshAnswers } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import { CheckField } from '../../parts/check-field.tsx'
import { ChoiceChips } from '../../parts/choice-chips.tsx'
import { Field, fieldError } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { JsonField } from '../../parts/json-field.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { stateWord } from '../../parts/state-words.ts'
import { words } from '../../words/words.ts'
import { PLACEHOLDERS, withPlaceholder } from './template-draft.ts'

const t = words({
  type: ['Type', 'Art'],
  chat_webhook: ['chat (Slack, Teams, Mattermost, Discord …)', 'Chat (Slack, Teams, Mattermost, Discord …)'],
  webhook: ['webhook', 'Webhook'],
  email: ['e-mail', 'E-Mail'],
  webhookUrl: ['Webhook URL of the chat', 'Adresse, die der Chat Ihnen gab'],
  url: ['Address', 'Adresse'],
  to: ['Recipients, separated by commas', 'Empfänger, durch Kommas getrennt'],
  isDefault: ['Default for rules without a channel', 'Für alle Regeln verwenden, die keinen Kanal nennen'],
  template: ['Custom body', 'Eigener Inhalt'],
  templateBody: ['Body (JSON); empty for the default', 'Inhalt (JSON); leer: der übliche'],
  templateHint: [
    'Placeholders go into strings. A button adds a field with its placeholder.',
    'Platzhalter stehen in seinen Texten. Ein Knopf fügt ein Feld mit seinem Platzhalter hinzu.',
  ],
  placeholders: ['Placeholders', 'Platzhalter'],
  create: ['Create', 'Anlegen'],
  secret: [
    'Receivers verify signatures with this secret. It is shown only once.',
    'Empfänger prüfen unsere Signatur mit diesem Geheimnis. Es wird nur jetzt gezeigt.',
  ],
  secretName: ['Secret', 'Geheimnis'],
})

export function NewChannel({ onClose }: { readonly onClose: () => void }) {
  const [type, setType] = useState<ChannelType>('chat_webhook')
  const [name, setName] = useState('')
  const [address, setAddress] = useState('')
  const [severity, setSeverity] = useState<readonly (typeof ALERT_SEVERITIES)[number][]>([
    'warning',
    'critical',
  ])
  const [isDefault, setDefault] = useState(true)
  const [template, setTemplate] = useState('')
  const [secret, setSecret] = useState<string | undefined>(undefined)
  const write = useWrite(async () => {
    const channel = await fleet.createChannel({
      body: {
        type,
        name,
        severity: [...severity],
        default: isDefault,
        ...addressOf(type, address),
        ...templateOf(type, template),
      },
    })
    refreshAnswers('listChannels')
    if (channel.secret === undefined) onClose()
    else setSecret(channel.secret)
  })
  if (secret !== undefined)
    return (
      <SecretDialog
        title={name}
        text={t('secret')}
        label={t('secretName')}
        secret={secret}
        onClose={onClose}
      />
    )
  const label = type === 'chat_webhook' ? t('webhookUrl') : type === 'webhook' ? t('url') : t('to')
  return (
    <FormDialog title={t('newChannel')} action={t('create')} write={write} onClose={onClose}>
      <SelectField
        label={t('type')}
        options={CHANNEL_TYPES.map((word) => [word, t(word)] as const)}
        value={type}
        onValue={setType}
      />
      <Field label={t('name')} value={name} onValue={setName} error={write.error.value} pointer="/name" />
      <Field
        label={label}
        value={address}
        onValue={setAddress}
        spellcheck={false}
        error={write.error.value}
        pointer={type === 'chat_webhook' ? '/webhook_url' : type === 'webhook' ? '/url' : '/to'}
      />
      {type === 'webhook' && (
        <details>
          <summary>{t('template')}</summary>
          <p class="hint">{t('templateHint')}</p>
          <ul class="chips" aria-label={t('placeholders')}>
            {PLACEHOLDERS.map((name) => (
              <li key={name}>
                <button
                  type="button"
                  class="chip chip-choice"
                  onClick={() => setTemplate(withPlaceholder(template, name))}
                >
                  {name}
                </button>
              </li>
            ))}
          </ul>
          <JsonField
            label={t('templateBody')}
            text={template}
            onText={setTemplate}
            rows={6}
            error={fieldError(write.error.value, '/template')}
          />
        </details>
      )}
      <ChoiceChips
        isField
        label={t('severity')}
        options={ALERT_SEVERITIES.map((word) => [word, stateWord(word)] as const)}
        value={{ value: severity, set: setSeverity }}
      />
      <CheckField label={t('isDefault')} isOn={isDefault} onValue={setDefault} />
    </FormDialog>
  )
}

function addressOf(type: ChannelType, address: string): Partial<NewChannelBody> {
  if (type === 'chat_webhook') return { webhook_url: address }
  if (type === 'webhook') return { url: address }
  return { to: splitList(address) }
}

function templateOf(type: ChannelType, template: string): Partial<NewChannelBody> {
  return type === 'webhook' && template.trim() !== '' ? { template: template.trim() } : {}
}
