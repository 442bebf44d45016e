// `npm start`: the service, with whatever set-up it still needs. Arguments are passed on.
import './node-version.mjs'
import { runBuilt } from './run-built.mjs'

await runBuilt('dist/api/service/main.js')
