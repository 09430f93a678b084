# Fetches Keycloak into the folder keycloak, and imports a realm into its database there.
set -eu
version=$1
mvn -B -q dependency:unpack -Dartifact="org.keycloak:keycloak-quarkus-dist:$version:zip" -DoutputDirectory=. -DmarkersDirectory=markers
printf %s "$2" >realm.json
export JAVA_OPTS_KC_HEAP=-Xmx256m JAVA_OPTS_APPEND=-XX:TieredStopAtLevel=1
mv "keycloak-$version" new
new/bin/kc.sh build --db=dev-file
new/bin/kc.sh import --optimized --file realm.json
mv new keycloak
