import { words } from '../../words/words.ts'

export const t = words({
  forbidden: ['Registering devices needs an admin', 'Geräte meldet ein Admin an'],
  forbiddenHint: [
    'Send this to an admin: "Please register a device for me in Fleet and send me its id and its token."',
    'Schicken Sie einem Admin: „Bitte melde für mich ein Gerät in Fleet an und schicke mir seine ID und sein Token.“',
  ],
  one: ['One device', 'Ein Gerät'],
  many: ['Many devices', 'Viele Geräte'],
  ways: ['Ways to register', 'Arten der Anmeldung'],
  idHint: [
    'Letters, digits, - and _. Leave empty to have one generated.',
    'Buchstaben, Ziffern, - und _. Ist sie leer, wählt der Dienst eine.',
  ],
  groupHint: ['A path such as eu/site-3. Optional.', 'Ein Pfad wie eu/site-3. Er darf leer bleiben.'],
  register: ['Register', 'Anmelden'],
  registered: ['{id} is registered', '{id} ist angemeldet'],
  token: ['Token', 'Sein Token'],
  tokenHint: [
    'The token is the MQTT password. It is shown only here, for one minute; you can issue another one at any time.',
    'Das Token ist das MQTT-Passwort. Es steht nur hier, für eine Minute; ein weiteres lässt sich jederzeit ausstellen.',
  ],
  hiddenToken: ['The token is hidden now.', 'Das Token ist jetzt verborgen.'],
  another: ['Issue another token', 'Weiteres Token ausstellen'],
  program: ['Run one of these programs on the device', 'Eines davon auf dem Gerät ausführen'],
  programs: ['Programs', 'Programme'],
  ladder: ['Progress', 'Was geschieht'],
  stepRegistered: ['registered', 'angemeldet'],
  stepHeard: ['first message', 'erste Nachricht'],
  stepStored: ['stored', 'gespeichert'],
  nothingYet: [
    'The broker has not seen this device yet. Can it reach port {port} of {host}?',
    'Den Broker hat noch nichts erreicht. Ist Port {port} von {host} für das Gerät offen?',
  ],
  refused: ['The service refused it: {reason}', 'Der Dienst wies es ab: {reason}'],
  expired: [
    'The token has expired. Issue another one.',
    'Das Token ist abgelaufen. Stellen Sie ein weiteres aus.',
  ],
  invalid: [
    'The password is not a token of this service. Copy the token above again.',
    'Das Passwort ist kein Token dieses Dienstes. Kopieren Sie das Token oben noch einmal.',
  ],
  noToken: [
    'The device sent no password. Its token is the password.',
    'Das Gerät hat kein Passwort geschickt. Sein Token ist das Passwort.',
  ],
  revoked: [
    'The token was revoked. Issue another one.',
    'Das Token wurde widerrufen. Stellen Sie ein weiteres aus.',
  ],
  retired: ['The device is decommissioned.', 'Das Gerät ist ausgemustert.'],
  otherId: [
    'The client id was "{other}"; it must be {id}, and so must the user name.',
    'Die Client-ID war „{other}“; sie muss {id} sein, der Benutzername ebenso.',
  ],
  unreadableId: [
    'The client id was not a valid device id; it must be {id}, and so must the user name.',
    'Die Client-ID war keine gültige Geräte-ID; sie muss {id} sein, der Benutzername ebenso.',
  ],
  open: ['Open the device', 'Gerät öffnen'],
  next: ['Connect another device', 'Weiteres verbinden'],
  bulkHint: [
    'One device per line: JSON objects (NDJSON), or CSV with the columns device_id, name, type, group, tags. First it is checked, then registered.',
    'Ein Gerät je Zeile: JSON-Objekte (NDJSON) oder CSV mit den Spalten device_id, name, type, group, tags. Erst wird geprüft, dann angemeldet.',
  ],
  drop: [
    'Drop a CSV or NDJSON file here, or paste its lines',
    'CSV- oder NDJSON-Datei hierher ziehen oder Zeilen einfügen',
  ],
  check: ['Check', 'Prüfen'],
  checked: [
    '{valid} of {total} rows can be registered',
    '{valid} von {total} Zeilen können angemeldet werden',
  ],
  create: ['Register {n} device | Register {n} devices', '{n} Gerät anmelden | {n} Geräte anmelden'],
  created: [
    '{n} device is registered | {n} devices are registered',
    '{n} Gerät ist angemeldet | {n} Geräte sind angemeldet',
  ],
  tokens: ['Download tokens', 'Tokens als Datei sichern'],
  tokensHint: [
    'The tokens are shown only once. Save them now.',
    'Die Tokens werden nicht noch einmal gezeigt. Sichern Sie sie jetzt.',
  ],
  wrong: ['Rows with errors', 'Zeilen mit Fehlern'],
  row: ['Row', 'Zeile'],
  error: ['Error', 'Fehler'],
  more: [
    '{n} more row has errors. | {n} more rows have errors.',
    '{n} weitere Zeile hat Fehler. | {n} weitere Zeilen haben Fehler.',
  ],
  list: ['Show the devices', 'Geräte zeigen'],
})
