// A client's certificate, and what registers it: argv is the contract, the account, its permission, and the folder
// for client.key; prints the arguments of the action setcert.
'use strict';
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const {Bytes, KeyType, Name, PermissionLevel, PrivateKey, Serializer} = require('@wharfkit/antelope');

const [contract, actor, permission, folder] = process.argv.slice(2);
const {privateKey} = crypto.generateKeyPairSync('ec', {namedCurve: 'P-256'});
fs.writeFileSync(path.join(folder, 'client.key'), privateKey.export({type: 'sec1', format: 'pem'}));
const key = new PrivateKey(KeyType.R1,
  new Bytes(Buffer.from(privateKey.export({format: 'jwk'}).d, 'base64url')));
const principal = PermissionLevel.from({actor, permission});
// Its own signature over contract, principal and key (contracts/bps/identity.cpp).
const signed = Buffer.concat([
  Buffer.from('BoR cert 1'),
  Serializer.encode({object: Name.from(contract)}).array,
  Serializer.encode({object: principal}).array,
  Serializer.encode({object: key.toPublic()}).array,
].map((each) => Buffer.from(each)));
console.log(JSON.stringify({
  account: actor, permission, key: key.toPublic().toString(),
  signature: key.signMessage(signed).toString(),
}));
