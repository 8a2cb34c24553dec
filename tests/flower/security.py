"""Certificates and keys for one federation on loopback, made anew for each test."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

USES = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
    "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
)  # fmt: skip
PRIVATE = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


class Security:
    """An authority, the SuperLink's certificate from it, and a key for each of some SuperNodes."""

    def __init__(self, folder, n_nodes):
        self.folder = folder
        self.root = folder / "ca.crt"
        authority = ec.generate_private_key(ec.SECP384R1())
        issued_by = _name("an authority for one test")
        self.root.write_bytes(
            _certificate(issued_by, issued_by, authority.public_key(), authority, is_authority=True)
        )
        server = ec.generate_private_key(ec.SECP384R1())
        (folder / "server.pem").write_bytes(
            _certificate(_name("127.0.0.1"), issued_by, server.public_key(), authority)
        )
        (folder / "server.key").write_bytes(server.private_bytes(*PRIVATE))
        for number in range(n_nodes):
            self._write_keys(number)

    @property
    def superlink_options(self):
        files = {"ca": self.root, "cert": self.folder / "server.pem", "key": self.folder / "server.key"}
        return [
            "--ssl-ca-certfile", str(files["ca"]), "--ssl-certfile", str(files["cert"]),
            "--ssl-keyfile", str(files["key"]), "--enable-supernode-auth",
        ]  # fmt: skip

    def supernode_options(self, number):
        key = str(self.folder / f"node{number}")
        return ["--root-certificates", str(self.root), "--auth-supernode-private-key", key]

    def public_key(self, number):
        return str(self.folder / f"node{number}.pub")

    def _write_keys(self, number):
        key = ec.generate_private_key(ec.SECP384R1())
        private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        (self.folder / f"node{number}").write_bytes(private)
        (self.folder / f"node{number}.pub").write_bytes(public)


def _name(common):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(subject, issuer, public_key, signing_key, *, is_authority=False):
    """Return a certificate for this hour, with all that strict verification asks for."""
    now, hour = datetime.datetime.now(datetime.UTC), datetime.timedelta(hours=1)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    usage = dict.fromkeys(USES, False) | {"key_cert_sign" if is_authority else "digital_signature": True}
    issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key())
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - hour)
        .not_valid_after(now + hour)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(issuer_key, critical=False)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(signing_key, hashes.SHA384())
    )
    return made.public_bytes(Encoding.PEM)
